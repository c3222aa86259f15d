"""Being below the peak of equity: free at first, then linear, then quadratic.

Formula:
    With `x = max(drawdown − free_frac, 0) / (knee_frac − free_frac)`:
    `−knee_penalty · x · max(x, 1)`. So nothing below 5 %, a line from 0 to −0.5 at 15 %, a parabola
    beyond, which reaches −1 at 19.1 %, just before the emergency stop.

Unit:
    −0.5 is a drawdown of 15 %.

Bounds:
    [−1, 0].

Notes:
    Paid in every step spent there, not only in the step that fell.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class DrawdownOptions:
    """Where the penalty begins and turns."""

    free_frac: float = 0.05
    knee_frac: float = 0.15
    knee_penalty: float = 0.5

    def __post_init__(self) -> None:
        require(0.0 <= self.free_frac < 1.0, "free_frac must lie in [0, 1)", self)
        require(
            self.free_frac < self.knee_frac <= 1.0,
            "knee_frac must lie between free_frac and 1",
            self,
        )
        require(0.0 <= self.knee_penalty <= 1.0, "knee_penalty must lie in [0, 1]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 0.0)


def drawdown(step: RewardInputs[T], options: DrawdownOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    width = options.knee_frac - options.free_frac
    depth = xp.maximum(step.drawdown - options.free_frac, 0.0) / width
    return -options.knee_penalty * depth * xp.maximum(depth, 1.0)


TERM = RewardTerm("drawdown", 1, drawdown, DrawdownOptions, objective="risk")
