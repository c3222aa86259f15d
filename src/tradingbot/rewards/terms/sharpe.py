"""What the step contributes to the account's Sharpe ratio on its way to a target.

Formula:
    `progress(after) − progress(before)` with `progress = clamp(S / target, −1, 1)` and
    `S = √bars_per_year · mean / rms · n / (n + warmup_bars)` over the n steps of the episode
    (0 before the first). `rms`, the root mean square of returns, at least 1e-6, differs from the
    standard deviation by a square of the Sharpe per bar, and unlike it means something at n = 1.

Unit:
    1 is the whole way from Sharpe 0 to the target (annualised, 1.0).

Bounds:
    [−1, 1].

Notes:
    Contributions add up to the progress at the end of the episode, so no policy collects more than
    1 in all, and nothing is gained by swinging around the target. The factor
    `n / (n + warmup_bars)` damps ratios of a few returns: after 100 hourly bars the annualised
    Sharpe of a coin is ±4.

Version history:
    1: first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require

POWER_FLOOR = 1.0e-12
"""Least mean square of returns per bar."""


@dataclass(frozen=True)
class SharpeOptions:
    """The target, and how bars become years."""

    target: float = 1.0
    """Annualised Sharpe ratio beyond which nothing is paid."""
    bars_per_year: float = 1764.0
    """252 trading days of 7 hourly bars."""
    warmup_bars: float = 500.0

    def __post_init__(self) -> None:
        require(0.0 < self.target <= 100.0, "target must lie in (0, 100]", self)
        require(0.0 < self.bars_per_year <= 1e6, "bars_per_year must lie in (0, 1e6]", self)
        require(0.0 <= self.warmup_bars <= 1e6, "warmup_bars must lie in [0, 1e6]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


def sharpe(step: RewardInputs[T], options: SharpeOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    after = _progress(step.steps, step.return_sum, step.return_squares, options, xp)
    before = _progress(
        step.steps - 1.0, step.return_sum_before, step.return_squares_before, options, xp
    )
    return after - before


def _progress(n: T, total: T, squares: T, options: SharpeOptions, xp: Maths[T]) -> T:
    count = xp.maximum(n, 1.0)
    mean = total / count
    power = xp.maximum(squares / count, POWER_FLOOR)
    scale = math.sqrt(options.bars_per_year) / options.target
    trust = count / (count + options.warmup_bars)
    return xp.clip(scale * trust * mean / xp.sqrt(power), -1.0, 1.0)


TERM = RewardTerm("sharpe", 1, sharpe, SharpeOptions, objective="risk")
