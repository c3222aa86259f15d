"""Collecting experience: S steps of N agents in B environments, kept on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.task import Observation, Task, TaskState


class Choice(NamedTuple):
    """What a policy chose for one observation."""

    action: Tensor
    """(N, B) what the task is told: codes or numbers."""
    drawn: Tensor
    """(N, B) what the policy drew: codes, or numbers before squashing."""
    log_prob: Tensor
    """(N, B)"""


class Rollout(NamedTuple):
    """S steps, time first; observations are rows and private numbers, never embeddings."""

    row: Tensor
    """(S, N, B) int64"""
    private: Tensor
    """(S, N, B, P)"""
    allowed: Tensor
    """(S, N, B, A) bool; A is 0 for numbers."""
    action: Tensor
    """(S, N, B)"""
    drawn: Tensor
    """(S, N, B)"""
    log_prob: Tensor
    """(S, N, B)"""
    reward: Tensor
    """(S, N, B)"""
    final_row: Tensor
    """(S, N, B) int64, what followed, before any reset."""
    final_private: Tensor
    """(S, N, B, P)"""
    terminated: Tensor
    """(S, N, B) bool"""
    truncated: Tensor
    """(S, N, B) bool"""
    executed: Tensor
    """(S, N, B) int64"""
    traded: Tensor
    """(S, N, B) bool"""
    terms: Tensor
    """(K, N, B) reward terms, summed over the steps."""


def allocate_rollout(task: Task, n_steps: int) -> Rollout:
    """Reserve the memory of a rollout on the task's device; `collect_rollout` fills it."""
    shape = (n_steps, len(task.agent_names), task.n_envs)
    device, n_codes = task.table.device, task.action.n_actions

    def reserve(dtype: torch.dtype, *more: int) -> Tensor:
        return torch.zeros(*shape, *more, dtype=dtype, device=device)

    action = reserve(torch.int64 if n_codes else torch.float32)
    return Rollout(
        row=reserve(torch.int64),
        private=reserve(torch.float32, task.n_private),
        allowed=reserve(torch.bool, n_codes),
        action=action,
        drawn=action.clone(),
        log_prob=reserve(torch.float32),
        reward=reserve(torch.float32),
        final_row=reserve(torch.int64),
        final_private=reserve(torch.float32, task.n_private),
        terminated=reserve(torch.bool),
        truncated=reserve(torch.bool),
        executed=reserve(torch.int64),
        traded=reserve(torch.bool),
        terms=torch.zeros(len(task.term_names), *shape[1:], device=device),
    )


@torch.no_grad()
def collect_rollout(
    task: Task,
    state: TaskState,
    observation: Observation,
    choose: Callable[[Observation], Choice],
    rollout: Rollout,
) -> tuple[TaskState, Observation]:
    """Fill a rollout from a state on; return the state and observation after it."""
    rollout.terms.zero_()
    for t in range(len(rollout.row)):
        choice = choose(observation)
        made = task.step(state, choice.action)
        for kept, seen in zip(rollout[:3], observation, strict=True):
            kept[t] = seen
        for kept, chosen in zip(rollout[3:6], choice, strict=True):
            kept[t] = chosen
        rollout.reward[t] = made.reward
        rollout.final_row[t] = made.final_row
        rollout.final_private[t] = made.final_private
        rollout.terminated[t] = made.terminated
        rollout.truncated[t] = made.truncated
        rollout.executed[t] = made.executed
        rollout.traded[t] = made.traded
        rollout.terms.add_(made.terms)
        state, observation = made.state, made.observation
    return state, observation
