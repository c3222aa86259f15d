"""Terms that weigh how the gain was risked: ratios, drawdown, size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.checks import bounded, require
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, TermOptions

POWER_FLOOR = 1.0e-12
"""Least mean square of returns per bar."""
VARIANCE_FLOOR = 1.0e-12
"""Of returns per bar, squared."""


@dataclass(frozen=True)
class SharpeOptions(TermOptions):
    """The target, and how bars become years."""

    target: float = bounded(1.0, "(0, 100]")
    """Annualised Sharpe ratio beyond which nothing is paid."""
    bars_per_year: float = bounded(1764.0, "(0, 1e6]")
    """252 trading days of 7 hourly bars."""
    warmup_bars: float = bounded(500.0, "[0, 1e6]")


def sharpe(step: RewardInputs[T], options: SharpeOptions, xp: Maths[T]) -> T:
    """What the step contributes to the account's Sharpe ratio on its way to a target.

    Formula:
        `progress(after) − progress(before)` with `progress = clamp(S / target, −1, 1)` and
        `S = √bars_per_year · mean / rms · n / (n + warmup_bars)` over the n steps of the episode
        (0 before the first). `rms`, the root mean square of returns, at least 1e-6, differs from
        the standard deviation by a square of the Sharpe per bar, and unlike it means something at
        n = 1.

    Unit:
        1 is the whole way from Sharpe 0 to the target (annualised, 1.0).

    Bounds:
        [−1, 1].

    Notes:
        Contributions add up to the progress at the end of the episode, so no policy collects more
        than 1 in all, and nothing is gained by swinging around the target. The factor
        `n / (n + warmup_bars)` damps ratios of a few returns: after 100 hourly bars the annualised
        Sharpe of a coin is ±4.

    Version history:
        1: first.
    """
    sums_before = (step.return_sum_before, step.return_squares_before)
    after = _progress(step.steps, step.return_sum, step.return_squares, options, xp)
    return after - _progress(step.steps - 1.0, *sums_before, options, xp)


def _progress(n: T, total: T, squares: T, options: SharpeOptions, xp: Maths[T]) -> T:
    count = xp.maximum(n, 1.0)
    mean = total / count
    power = xp.maximum(squares / count, POWER_FLOOR)
    scale = math.sqrt(options.bars_per_year) / options.target
    trust = count / (count + options.warmup_bars)
    return xp.clip(scale * trust * mean / xp.sqrt(power), -1.0, 1.0)


@dataclass(frozen=True)
class DifferentialSharpeOptions(TermOptions):
    """How it is scaled."""

    scale: float = bounded(0.1, "(0, 1e6]")
    """Reward per standard deviation."""


def differential_sharpe(
    step: RewardInputs[T], options: DifferentialSharpeOptions, xp: Maths[T]
) -> T:
    """The differential Sharpe ratio: how one more return moves an exponentially weighted Sharpe.

    Formula:
        `scale · (B · ΔA − ½ · A · ΔB) / (B − A²)^(3/2)` with A, B the account's moving first and
        second moments of returns before the step (rate 1/50), `ΔA = r − A`, `ΔB = r² − B`. `B − A²`
        is at least 1e-12.

    Unit:
        0.1 is a return of one standard deviation from a mean of 0 (`scale` = 0.1).

    Bounds:
        [−1, 1].

    Notes:
        0 until the account has had a return other than 0.

    Source:
        Moody and Saffell, 2001, Learning to trade via direct reinforcement.

    Version history:
        1: first.
    """
    mean, power, change = step.return_mean, step.return_power, step.equity_return
    variance = xp.maximum(power - mean * mean, VARIANCE_FLOOR)
    top = power * (change - mean) - 0.5 * mean * (change * change - power)
    return options.scale * top / (variance * xp.sqrt(variance))


@dataclass(frozen=True)
class DrawdownOptions(TermOptions):
    """Where the penalty begins and turns."""

    free_frac: float = bounded(0.05, "[0, 1)")
    knee_frac: float = 0.15
    knee_penalty: float = bounded(0.5, "[0, 1]")
    bounds = Bounds(-1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        ordered = self.free_frac < self.knee_frac <= 1.0
        require(ordered, "knee_frac must lie between free_frac and 1", self)


def drawdown(step: RewardInputs[T], options: DrawdownOptions, xp: Maths[T]) -> T:
    """Being below the peak of equity: free at first, then linear, then quadratic.

    Formula:
        With `x = max(drawdown − free_frac, 0) / (knee_frac − free_frac)`:
        `−knee_penalty · x · max(x, 1)`. So nothing below 5 %, a line from 0 to −0.5 at 15 %, a
        parabola beyond, which reaches −1 at 19.1 %, just before the emergency stop.

    Unit:
        −0.5 is a drawdown of 15 %.

    Bounds:
        [−1, 0].

    Notes:
        Paid in every step spent there, not only in the step that fell.

    Version history:
        1: first.
    """
    width = options.knee_frac - options.free_frac
    depth = xp.maximum(step.drawdown - options.free_frac, 0.0) / width
    return -options.knee_penalty * depth * xp.maximum(depth, 1.0)


@dataclass(frozen=True)
class SizingOptions(TermOptions):
    """Where size begins to hurt in full."""

    full_drawdown_frac: float = bounded(0.15, "(0, 1]")
    bounds = Bounds(-1.0, 0.0)


def sizing(step: RewardInputs[T], options: SizingOptions, xp: Maths[T]) -> T:
    """Large positions while the account is losing.

    Formula:
        `−min(exposure, 1) · min(drawdown / full_drawdown_frac, 1)`: exposure as a share of the
        largest position, drawdown from the peak, both at the end of the step.

    Unit:
        −1 is the largest position held in a drawdown of 15 % or more.

    Bounds:
        [−1, 0].

    Notes:
        A penalty only: a bonus for entries of one size could be collected by entering again and
        again. The preference for small entries is in `pnl`, where it needs a gain.

    Version history:
        1: first.
    """
    strain = xp.minimum(step.drawdown / options.full_drawdown_frac, 1.0)
    return -xp.minimum(step.exposure, 1.0) * strain


@dataclass(frozen=True)
class LossOptions(TermOptions):
    """What counts as a large loss, and as uneven."""

    value_at_risk: float = bounded(0.02, "(0, 1]")
    """Loss of a step, of the largest position, from which on it costs."""
    loss_factor: float = bounded(1.5, "[0, 10]")
    """Price of a loss of once more the value at risk."""
    consistency: float = bounded(0.1, "[0, 10]")
    """Price of returns that vary by as much as the value at risk."""
    bounds = Bounds(-1.0, 0.0)


def loss(step: RewardInputs[T], options: LossOptions, xp: Maths[T]) -> T:
    """Losing much at once, and earning unevenly: the objective risk.

    Formula:
        `−(loss_factor · max(−gain − value_at_risk, 0) + consistency · σ) / value_at_risk`: the loss
        of the step beyond the value at risk, as a share of the largest position, and the deviation
        σ of the account's returns before it (moving moments of rate 1/50).

    Unit:
        −0.75 is a loss of 3 % on the largest position allowed.

    Bounds:
        [−1, 0].

    Notes:
        Were every loss punished and no gain paid here, holding anything would cost more than an
        edge earns: a test ranks the oracle first.

    Version history:
        1: first.
    """
    variance = xp.maximum(step.return_power - step.return_mean * step.return_mean, 0.0)
    lost = options.loss_factor * xp.maximum(-step.gain - options.value_at_risk, 0.0)
    uneven = options.consistency * xp.sqrt(variance)
    return -(lost + uneven) / options.value_at_risk
