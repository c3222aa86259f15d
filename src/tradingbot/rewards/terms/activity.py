"""Terms about acting for its own sake: holding on, and doing the same again."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.action import Action
from tradingbot.domain.checks import bounded
from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, TermOptions


@dataclass(frozen=True)
class HoldOptions(TermOptions):
    """What a HOLD costs."""

    winner: float = bounded(-0.01, "[-1, 0]")
    loser: float = bounded(-0.005, "[-1, 0]")

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(min(self.winner, self.loser), 0.0)


def hold(step: RewardInputs[T], options: HoldOptions, xp: Maths[T]) -> T:
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
    price = xp.where(step.open_roi_before > 0.0, options.winner, options.loser * step.held_before)
    return xp.where(step.code == float(Action.HOLD), price, 0.0)


@dataclass(frozen=True)
class RepeatOptions(TermOptions):
    """How repeats are graded."""

    free_repeats: float = bounded(3.0, "[1, 1e6]")
    grade: float = bounded(0.1, "[0, 1]")
    """Price of each repeat beyond those."""
    floor: float = bounded(-0.5, "[-1, 0]")

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(self.floor, 0.0)


def repeat(step: RewardInputs[T], options: RepeatOptions, xp: Maths[T]) -> T:
    """Selecting the same action over and over.

    Formula:
        `−grade · max(repeats − free_repeats, 0)`, not below `floor`: −0.1, −0.2 … for the 4th, 5th
        … identical action in a row, −0.5 from the 8th on. HOLD does not count.

    Unit:
        Reward per step.

    Bounds:
        [floor, 0], which is [−0.5, 0].

    Notes:
        Counts what was selected, executed or not: in the discrete space the 4th is executed as
        HOLD.

    Version history:
        1: first.
    """
    return -options.grade * xp.maximum(step.repeats - options.free_repeats, 0.0)


@dataclass(frozen=True)
class FrequencyOptions(TermOptions):
    """How often trading is wanted."""

    frequency: float = bounded(0.1, "[0.02, 1]")
    """Share of steps in which each trading action is worth a reward."""

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(0.0, self.frequency)


def frequency(step: RewardInputs[T], options: FrequencyOptions, xp: Maths[T]) -> T:
    """Trading now and then, not all the time: the objective activity.

    Formula:
        Where the agent's order filled: `frequency · min(frequency · a, 1)` with `a` the steps since
        that action was last executed, at most 50; else 0.

    Unit:
        `frequency` (0.1) is an action that was not executed in the last 1 ÷ `frequency` steps.

    Bounds:
        [0, frequency], which is [0, 0.1].

    Notes:
        An action that is repeated more often is paid no more in all: 0.01 per step at most.

    Version history:
        1: first.
    """
    age = step.novelty * ACTION_MEMORY
    share = xp.minimum(options.frequency * age, 1.0)
    return options.frequency * step.voluntary * share
