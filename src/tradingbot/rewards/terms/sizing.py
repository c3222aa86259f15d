"""Large positions while the account is losing.

Formula:
    `−min(exposure, 1) · min(drawdown / full_drawdown_frac, 1)`: exposure as a share of the largest
    position, drawdown from the peak, both at the end of the step.

Unit:
    −1 is the largest position held in a drawdown of 15 % or more.

Bounds:
    [−1, 0].

Notes:
    A penalty only: a bonus for entries of one size could be collected by entering again and again.
    The preference for small entries is in `pnl`, where it needs a gain.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class SizingOptions:
    """Where size begins to hurt in full."""

    full_drawdown_frac: float = 0.15

    def __post_init__(self) -> None:
        require(0.0 < self.full_drawdown_frac <= 1.0, "full_drawdown_frac must lie in (0, 1]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 0.0)


def sizing(step: RewardInputs[T], options: SizingOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    strain = xp.minimum(step.drawdown / options.full_drawdown_frac, 1.0)
    return -xp.minimum(step.exposure, 1.0) * strain


TERM = RewardTerm("sizing", 1, sizing, SizingOptions, objective="risk")
