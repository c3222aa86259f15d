"""Steps as the low level keeps them: which option was followed stands behind private numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.replay import Transitions
from tradingbot.learning.task import Observation, TaskStep, TransitionExtras, delivered
from tradingbot.networks.options import OptionRun

N_KEPT = 3
"""Numbers kept beside private ones: option, elapsed, whether it ended by the step."""
_NO_GOALS = TransitionExtras()


def step_of(
    seen: Observation,
    run: OptionRun,
    number: Tensor,
    made: TaskStep,
    ended: Tensor,
    goals: TransitionExtras = _NO_GOALS,
) -> Transitions:
    """Return a step (N, B, …) with the correction `number` in [−1, 1] as its action."""
    kept = torch.stack([run.option, run.elapsed, ended], -1).to(seen.private.dtype)
    return Transitions(
        seen.row,
        torch.cat([seen.private, kept], -1),
        number,
        made.reward,
        (~made.terminated).to(made.reward.dtype),
        made.final_row,
        torch.cat([made.final_private, kept], -1),
        **goal_parts(made, goals),
    )


def goal_parts(made: TaskStep, goals: TransitionExtras) -> dict[str, Tensor]:
    """Return what is kept of a step's goals, by the names that transitions have; or nothing."""
    names = ("goal", "episode", "achieved") if goals.achieved else ()
    return {name: delivered(made, name) for name in names}


def run_of(drawn: Transitions, n_private: int) -> tuple[OptionRun, Tensor]:
    """Return the options that were followed in steps (N, M, …), and where they ended by them."""
    option, elapsed, ended = drawn.private[..., n_private:].long().unbind(-1)
    return OptionRun(option, elapsed, torch.zeros_like(drawn.reward)), ended > 0
