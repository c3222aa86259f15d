"""Environments of a rollout that play the same bars, and what their twins say of an action.

What the market did at a bar is the same for all of them: the mean of the others is a baseline that
no action of one's own moves, and takes the market's noise away exactly.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.task import Task, TaskState, keep_envs, repeat_task


def pair_envs(task: Task, count: int) -> Task:
    """Return a task with as many environments, `count` each of which begin at the same places.

    Number m · B ÷ count + b is the twin of b.

    Raises:
        ConfigError: If `count` does not divide B, or environments of the task cannot be twins.
    """
    if count == 1:
        return task
    if task.n_envs % count:
        rule = "paired_envs must divide the environments of a task"
        raise ConfigError(rule, was=f"{count} of {task.n_envs}", remedy="Set e.g. paired_envs=1")
    return repeat_task(keep_envs(task, 0, task.n_envs // count), count)


def rejoin_twins(state: TaskState, row: Tensor, count: int) -> TaskState:
    """Return a state in which twins at another bar than the first are where the first is.

    An episode that ended early parts them: their next ones begin at different times.

    Args:
        state: (…, N · B)
        row: (N, B) bars of the table that environments are at.
        count: Twins that play the same bars.
    """
    n_agents, n_envs = row.shape
    lane = torch.arange(n_envs, device=row.device)
    first = lane % (n_envs // count)
    source = torch.where(row == row[:, first], lane, first)
    source = (source + n_envs * torch.arange(n_agents, device=row.device)[:, None]).flatten()
    return tuple(part.index_select(-1, source) for part in state)


def subtract_twins(advantage: Tensor, row: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Subtract from each advantage the mean of its twins at the same bar.

    What a twin earns from a step on depends on no action that another one takes there: the
    expected gradient stays what it was (Kool, van Hoof & Welling 2019; Greensmith, Bartlett &
    Baxter 2004). A step that no twin shares has nothing to be compared with and counts 0.

    Args:
        advantage: (S, N, B)
        row: (S, N, B) bars of the table that actions were chosen at.
        count: Twins that play the same bars.

    Returns:
        Advantages, and which steps a twin shares, (S, N, B) each.
    """
    shape = (*advantage.shape[:2], count, -1)
    own, at = advantage.view(shape), row.view(shape)
    others, met = torch.zeros_like(own), torch.zeros_like(own)
    for turn in range(1, count):
        together = at == at.roll(turn, 2)
        others += torch.where(together, own.roll(turn, 2), 0.0)
        met += together
    paired = met > 0.0
    less = torch.where(paired, own - others / met.clamp_min(1.0), 0.0)
    return less.view(advantage.shape), paired.view(advantage.shape)
