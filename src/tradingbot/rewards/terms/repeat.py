"""Selecting the same action over and over.

Formula:
    `−grade · max(repeats − free_repeats, 0)`, not below `floor`: −0.1, −0.2 … for the 4th, 5th …
    identical action in a row, −0.5 from the 8th on. HOLD does not count.

Unit:
    Reward per step.

Bounds:
    [floor, 0], which is [−0.5, 0].

Notes:
    Counts what was selected, executed or not: in the discrete space the 4th is executed as HOLD.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class RepeatOptions:
    """How repeats are graded."""

    free_repeats: float = 3.0
    grade: float = 0.1
    """Price of each repeat beyond those."""
    floor: float = -0.5

    def __post_init__(self) -> None:
        require(1.0 <= self.free_repeats <= 1e6, "free_repeats must lie in [1, 1e6]", self)
        require(0.0 <= self.grade <= 1.0, "grade must lie in [0, 1]", self)
        require(-1.0 <= self.floor <= 0.0, "floor must lie in [-1, 0]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(self.floor, 0.0)


def repeat(step: RewardInputs[T], options: RepeatOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    return -options.grade * xp.maximum(step.repeats - options.free_repeats, 0.0)


TERM = RewardTerm("repeat", 1, repeat, RepeatOptions, objective="activity")
