"""HOLD while there is a position: a small price for not deciding.

Formula:
    `winner` if the executed action is HOLD and the position is above its entry price at the
    decision, `loser` if it is at or below, else 0.

Unit:
    Reward per step.

Bounds:
    [min(winner, loser), 0], which is [−0.01, 0].

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.action import Action
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class HoldOptions:
    """What a HOLD costs."""

    winner: float = -0.01
    loser: float = -0.005

    def __post_init__(self) -> None:
        require(-1.0 <= self.winner <= 0.0, "winner must lie in [-1, 0]", self)
        require(-1.0 <= self.loser <= 0.0, "loser must lie in [-1, 0]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(min(self.winner, self.loser), 0.0)


def hold(step: RewardInputs[T], options: HoldOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    price = xp.where(step.open_roi_before > 0.0, options.winner, options.loser * step.held_before)
    return xp.where(step.code == float(Action.HOLD), price, 0.0)


TERM = RewardTerm("hold", 1, hold, HoldOptions, objective="activity")
