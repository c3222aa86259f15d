"""Goals of an episode: enough return, not too much drawdown; rewards, and what agents see of them.

Numbers may be arrays of NumPy or tensors: nothing here needs to know which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tradingbot.domain.checks import CheckedFields, bounded, require

if TYPE_CHECKING:
    from torch import Tensor

GoalReward = Literal["sparse", "dense", "partial"]
GOAL_INPUTS = ("goal_return", "goal_drawdown", "goal_return_missing", "goal_drawdown_left")
"""What agents see of a goal: `AskedGoal.inputs`."""
GOAL_READS = ("total_return", "drawdown")
"""Private numbers of what an account has reached of a goal."""
GOAL_INPUT_BOUND = 2.0
"""What is missing, or left, is cut to this, in units of the largest goal."""


@dataclass(frozen=True)
class GoalRules(CheckedFields):
    """Which goals are drawn, and how a step is rewarded."""

    return_range_frac: tuple[float, float] = (0.0, 0.02)
    """Desired return is drawn uniformly from here: at least that much."""
    drawdown_range_frac: tuple[float, float] = (0.005, 0.05)
    """Desired max drawdown is drawn uniformly from here: at most that much."""
    reward: GoalReward = "sparse"
    """`sparse`: 0 where the goal is met now, else −1. `dense`: minus what is missing, each part in
    units of its range's upper end, −1 at the least. `partial`: 0 where the goal is met now, else
    minus what is missing in units of `credit_range_frac`: credit of 1 − gap ÷ 5 %, less 1."""
    tolerance_frac: float = bounded(0.0, "[0, 1]")
    """Return that may be missing, and drawdown that may be too deep, where a goal still counts as
    met."""
    credit_range_frac: float = bounded(0.05, "(0, 10]")
    """What must be missing for no credit at all, with the reward `partial`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.return_range_frac
        require(-1.0 <= low <= high <= 10.0, "return_range_frac must rise within [-1, 10]", self)
        require(high > 0.0, "return_range_frac must end above 0", self)
        low, high = self.drawdown_range_frac
        require(0.0 <= low <= high <= 1.0, "drawdown_range_frac must rise within [0, 1]", self)
        require(high > 0.0, "drawdown_range_frac must end above 0", self)

    def ask(self, return_frac: float, drawdown_frac: float) -> AskedGoal:
        """Return one goal, in the units of these rules."""
        units = self.return_range_frac[1], self.drawdown_range_frac[1]
        return AskedGoal(return_frac, drawdown_frac, *units)


@dataclass(frozen=True)
class GoalSettings(GoalRules):
    """Goals of a training, and the one that its agents are asked for afterwards."""

    asked_return_frac: float = bounded(0.02, "[-1, 10]")
    """Return that agents are asked for on validation, on test and in backtests, over all of their
    bars."""
    asked_drawdown_frac: float = bounded(0.05, "[0, 1]")
    """Drawdown that they are allowed there."""

    @property
    def asked(self) -> AskedGoal:
        """What agents are asked for outside of training."""
        return self.ask(self.asked_return_frac, self.asked_drawdown_frac)


@dataclass(frozen=True)
class AskedGoal:
    """A goal, and the units in which agents see it."""

    return_frac: float
    drawdown_frac: float
    return_unit_frac: float
    drawdown_unit_frac: float

    def inputs(self, total_return: Tensor, drawdown: Tensor) -> list[Tensor]:
        """Return `GOAL_INPUTS` (B,) of accounts with a return and a drawdown (B,)."""
        ones = total_return * 0.0 + 1.0
        desired = (self.return_frac * ones, self.drawdown_frac * ones)
        units = (self.return_unit_frac, self.drawdown_unit_frac)
        return goal_inputs(desired, (total_return, drawdown), units)


def goal_inputs(
    desired: tuple[Tensor, Tensor], now: tuple[Tensor, Tensor], units: tuple[float, float]
) -> list[Tensor]:
    """Return what agents see of goals, `GOAL_INPUTS` in order, (B,) each.

    Args:
        desired: Return wanted at least and drawdown allowed at most, (B,).
        now: Return since the episode began, and drawdown from its highest equity, (B,).
        units: Largest return and drawdown that goals are drawn from.
    """
    left = [(want - have) / unit for want, have, unit in zip(desired, now, units, strict=True)]
    return [
        *(want / unit for want, unit in zip(desired, units, strict=True)),
        *(each.clip(-GOAL_INPUT_BOUND, GOAL_INPUT_BOUND) for each in left),
    ]


def meets_goal(achieved: Any, desired: Any, tolerance_frac: float = 0.0) -> Any:
    """Say where a goal (…, 2) is met: enough return, not too much drawdown; equality is enough."""
    enough = achieved[..., 0] >= desired[..., 0] - tolerance_frac
    return enough & (achieved[..., 1] <= desired[..., 1] + tolerance_frac)


def goal_reward(rules: GoalRules, achieved: Any, desired: Any) -> Any:
    """Reward what was achieved (…, 2) against what was desired (…, 2); (…,) in [−1, 0]."""
    missed = ~meets_goal(achieved, desired, rules.tolerance_frac)
    if rules.reward == "sparse":
        return 0.0 - 1.0 * missed
    units = rules.return_range_frac[1], rules.drawdown_range_frac[1]
    if rules.reward == "partial":
        units = rules.credit_range_frac, rules.credit_range_frac
    missing = (desired[..., 0] - achieved[..., 0]).clip(0.0) / units[0]
    excess = (achieved[..., 1] - desired[..., 1]).clip(0.0) / units[1]
    graded = 0.0 - (missing + excess).clip(None, 1.0)
    return graded * missed if rules.reward == "partial" else graded
