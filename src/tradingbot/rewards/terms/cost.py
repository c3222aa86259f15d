"""What trading cost in the step: commission, slippage, spread, impact and borrow.

Formula:
    `−scale · cost`, the cost as a share of the largest position.

Unit:
    −1 is a cost of 1 % of the largest position allowed (`scale` = 100); buying all of it at the
    default profile costs 1.2 bp, which is −0.012.

Bounds:
    [−1, 0].

Notes:
    P&L is net of costs already; this term makes trading without purpose dearer than it is.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class CostOptions:
    """How costs weigh."""

    scale: float = 100.0
    """Reward lost per cost of one largest position."""

    def __post_init__(self) -> None:
        require(0.0 < self.scale <= 1e6, "scale must lie in (0, 1e6]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 0.0)


def cost(step: RewardInputs[T], options: CostOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    return -options.scale * step.cost


TERM = RewardTerm("cost", 1, cost, CostOptions, objective="profit")
