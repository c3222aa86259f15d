"""Using more than a few of the seven actions.

Formula:
    `bonus · clamp(distinct − 2, 0, 3) / 50`: 0.1, 0.2, 0.3 for 3, 4, 5 or more different actions
    executed in the last 50 steps, HOLD among them, earned over those 50 steps.

Unit:
    Reward per step: a fiftieth of what 50 such steps are worth.

Bounds:
    [0, 3 · bonus / 50], which is [0, 0.006].

Notes:
    Paid whole in every step it would be worth more than any edge: random actions would earn more
    than the best policy there is. A test ranks the oracle first under every preset.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require

FREE_ACTIONS = 2.0
"""So many different actions earn nothing."""
TIERS = 3.0


@dataclass(frozen=True)
class DiversityOptions:
    """What variety is worth."""

    bonus: float = 0.1
    """Per action beyond two, for three of them, over 50 steps."""

    def __post_init__(self) -> None:
        require(0.0 <= self.bonus <= 1.0 / 3.0, "bonus must lie in [0, 1/3]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(0.0, TIERS * self.bonus / ACTION_MEMORY)


def diversity(step: RewardInputs[T], options: DiversityOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    share = options.bonus / ACTION_MEMORY
    return share * xp.clip(step.distinct_actions - FREE_ACTIONS, 0.0, TIERS)


TERM = RewardTerm("diversity", 1, diversity, DiversityOptions, objective="exploration")
