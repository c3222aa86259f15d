"""Trying an action that has not been tried lately; giving one that cannot be executed.

Formula:
    `novelty` = steps since that action was last executed ÷ 50, at most 1, where the agent's order
    filled; `violation_price` where the action could not be executed as given (masked, repeated too
    often, not a number); else 0.

Unit:
    1 is an action not executed in the last 50 steps.

Bounds:
    [violation_price, 1], which is [−1, 1].

Notes:
    Each of the six trading actions earns at most 1/50 per step on average, however often it is
    used: trading for the sake of this term does not pay.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class IntrinsicActionOptions:
    """What a violation costs."""

    violation_price: float = -1.0

    def __post_init__(self) -> None:
        require(-1.0 <= self.violation_price <= 0.0, "violation_price must lie in [-1, 0]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(self.violation_price, 1.0)


def intrinsic_action(step: RewardInputs[T], options: IntrinsicActionOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    return xp.where(
        step.violation > 0.0,
        options.violation_price,
        step.voluntary * step.novelty,
    )


TERM = RewardTerm(
    "intrinsic_action", 1, intrinsic_action, IntrinsicActionOptions, objective="exploration"
)
