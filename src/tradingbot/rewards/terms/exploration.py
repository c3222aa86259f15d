"""Terms that keep a policy from collapsing into one action."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import bounded, require
from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, TermOptions

FREE_ACTIONS = 2.0
"""So many different actions earn nothing."""
TIERS = 3.0


@dataclass(frozen=True)
class DiversityOptions(TermOptions):
    """What variety is worth."""

    bonus: float = 0.1
    """Per action beyond two, for three of them, over 50 steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0.0 <= self.bonus <= 1.0 / 3.0, "bonus must lie in [0, 1/3]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(0.0, TIERS * self.bonus / ACTION_MEMORY)


def diversity(step: RewardInputs[T], options: DiversityOptions, xp: Maths[T]) -> T:
    """Using more than a few of the seven actions.

    Formula:
        `bonus · clamp(distinct − 2, 0, 3) / 50`: 0.1, 0.2, 0.3 for 3, 4, 5 or more different
        actions executed in the last 50 steps, HOLD among them, earned over those 50 steps.

    Unit:
        Reward per step: a fiftieth of what 50 such steps are worth.

    Bounds:
        [0, 3 · bonus / 50], which is [0, 0.006].

    Notes:
        Paid whole in every step it would be worth more than any edge: random actions would earn
        more than the best policy there is. A test ranks the oracle first under every preset.

    Version history:
        1: first.
    """
    share = options.bonus / ACTION_MEMORY
    return share * xp.clip(step.distinct_actions - FREE_ACTIONS, 0.0, TIERS)


@dataclass(frozen=True)
class IntrinsicActionOptions(TermOptions):
    """What a violation costs."""

    violation_price: float = bounded(-1.0, "[-1, 0]")

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(self.violation_price, 1.0)


def intrinsic_action(step: RewardInputs[T], options: IntrinsicActionOptions, xp: Maths[T]) -> T:
    """Trying an action that has not been tried lately; giving one that cannot be executed.

    Formula:
        `novelty` = steps since that action was last executed ÷ 50, at most 1, where the agent's
        order filled; `violation_price` where the action could not be executed as given (masked,
        repeated too often, not a number); else 0.

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
    novelty = step.voluntary * step.novelty
    return xp.where(step.violation > 0.0, options.violation_price, novelty)


@dataclass(frozen=True)
class NoveltyOptions(TermOptions):
    """What something new is worth, and for how long."""

    scale: float = bounded(10.0, "[0, 50]")
    """Worth of an action that was not executed in the last 50 steps, over those steps."""
    decay: float = bounded(0.999, "(0, 1]")
    """What is left of it after one step of the episode."""

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(0.0, self.scale / ACTION_MEMORY)


def novelty(step: RewardInputs[T], options: NoveltyOptions, xp: Maths[T]) -> T:
    """Trying what was not tried lately, early in an episode: the objective exploration.

    Formula:
        Where the agent's order filled: `scale · (a / 50) / 50 / (1 + (1 − decay) · n)` with `a` the
        steps since that action was last executed, at most 50, in step n of the episode; else 0.

    Unit:
        0.2 is an action that was not executed in the last 50 steps, at the beginning (`scale` 10).

    Bounds:
        [0, scale / 50], which is [0, 0.2].

    Notes:
        Falls by `decay` a step at first, and to half after 1 ÷ (1 − decay) steps.

    Version history:
        1: first.
    """
    fades = 1.0 + (1.0 - options.decay) * step.steps
    return options.scale / ACTION_MEMORY * step.voluntary * step.novelty / fades
