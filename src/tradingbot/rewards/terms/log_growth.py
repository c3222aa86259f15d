"""Logarithmic growth of equity, the quantity that compounds.

Formula:
    `scale · log(1 + equity return)`; the return is not taken below −0.999999, which only a bankrupt
    account has. 0 where equity was not positive before.

Unit:
    1 is a growth of 1.5 % of equity (`scale` = 200/3: the gain of 10 % on a largest position of
    15 %, as in `pnl`).

Bounds:
    [−1, 1].

Source:
    Kelly, 1956, A new interpretation of information rate.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require

LOWEST_RETURN = -0.999999


@dataclass(frozen=True)
class LogGrowthOptions:
    """How growth is scaled."""

    scale: float = 200.0 / 3.0
    """Reward per unit of log growth."""

    def __post_init__(self) -> None:
        require(0.0 < self.scale <= 1e6, "scale must lie in (0, 1e6]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


def log_growth(step: RewardInputs[T], options: LogGrowthOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    return options.scale * xp.log1p(xp.maximum(step.equity_return, LOWEST_RETURN))


TERM = RewardTerm("log_growth", 1, log_growth, LogGrowthOptions, objective="profit")
