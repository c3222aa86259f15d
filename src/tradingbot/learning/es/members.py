"""A population as one more axis: M members of N agents act, and are played, all at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.learning.es.perturbation import Weights
from tradingbot.learning.task import Observation, Task, TaskState, repeat_lanes
from tradingbot.networks.heads import ACTIVATIONS, StackedHead

Choose = Callable[[Tensor, Tensor], Tensor]
"""Outputs of a head (N, B, O) and codes that are allowed (N, B, A) → actions (N, B) or (N, B, K).
"""
See = Callable[[Tensor, Tensor], Tensor]
"""Rows (N, B) and private numbers (N, B, P) → what heads read, (N, B, I)."""


def member_outputs(head: StackedHead, members: Weights, inputs: Tensor) -> Tensor:
    """Return what M members of a head put out.

    Args:
        head: Whose layers and sharing they have.
        members: Parameters by name, (M, …) each.
        inputs: (N, M · B, I), member by member.

    Returns:
        (N, M · B, O).
    """
    n_members, n_agents = len(members["weights.0"]), len(inputs)
    x = inputs.view(n_agents, n_members, -1, inputs.shape[-1]).transpose(0, 1)  # (M, N, B, I)
    last = len(head.weights) - 1
    activate = ACTIVATIONS[head.config.activation]
    for layer in range(last + 1):
        weight, bias = members[f"weights.{layer}"], members[f"biases.{layer}"]
        if layer == last and head.config.pooling == "partial":
            weight = weight[:, None] + _mixtures(head, members)
        x = _affine(x, weight, bias)
        if layer < last:
            x = activate(x)
    return x.transpose(0, 1).reshape(n_agents, inputs.shape[1], -1)


def _mixtures(head: StackedHead, members: Weights) -> Tensor:
    """Mix the directions of each member's agents, (M, N, H, O)."""
    count = head.config.n_directions
    shared = members["directions"]
    directions = shared.view(*shared.shape[:-1], count, head.n_outputs)
    return torch.einsum("mnk,mhko->mnho", members["deviations"], directions)


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return x (M, N, B, I) times weight (M, I, O) or (M, N, I, O), plus bias."""
    shape = (*x.shape[:3], weight.shape[-1])
    if weight.dim() == 3:
        return torch.baddbmm(bias[:, None], x.flatten(1, 2), weight).view(shape)
    if bias.dim() == 2:  # shared by agents whose weights are not
        return x @ weight + bias[:, None, None]
    parts = (part.flatten(0, 1) for part in (bias, x, weight))
    return torch.baddbmm(*parts).view(shape)


@torch.no_grad()
def play_members(
    task: Task, state: TaskState, n_bars: int, act: Callable[[Observation], Tensor], n_members: int
) -> Tensor:
    """Play all members from one state; return the rewards of each account, (M, N, B) float64.

    Args:
        task: With M · B environments, of `repeat_task`.
        state: Of the task that was repeated, where all members begin.
        n_bars: Steps of each environment.
        act: What members do: actions (N, M · B) of an observation.
        n_members: M.
    """
    n_agents = len(task.agent_names)
    state = tuple(repeat_lanes(part, n_agents, n_members) for part in state)
    seen = task.observe(state)
    earned = torch.zeros(n_agents, task.n_envs, dtype=torch.float64, device=task.table.device)
    for _ in range(n_bars):
        step = task.step(state, act(seen))
        state, seen = step.state, step.observation
        earned += step.reward
    return earned.view(n_agents, n_members, -1).transpose(0, 1)
