"""Collecting experience: S steps of N agents in B environments, kept on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.task import Observation, Task, TaskState, TransitionExtras, delivered


class Choice(NamedTuple):
    """What a policy chose for one observation."""

    action: Tensor
    """(N, B) or (N, B, K) what the task is told: codes or numbers."""
    drawn: Tensor
    """(N, B) or (N, B, D) what the policy drew: codes, or numbers before squashing."""
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
    """(S, N, B), or (S, N, B, K) for vectors."""
    drawn: Tensor
    """(S, N, B), or (S, N, B, D) for vectors; D is K in a box and K − 1 on a simplex."""
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
    duration: Tensor | None = None
    """(S, N, B) steps of the task's clock, where it was asked for."""
    discount: Tensor | None = None
    """(S, N, B), where it was asked for."""
    episode: Tensor | None = None
    """(S, N, B) int64, where it was asked for."""
    goal: Tensor | None = None
    """(S, N, B, G), where it was asked for."""
    turnover: Tensor | None = None
    """(S, N, B), where it was asked for."""
    step_terms: Tensor | None = None
    """(S, K, N, B) reward terms of every step, where they were asked for."""


_NOTHING = TransitionExtras()
_OF_STEPS = (
    *("reward", "final_row", "final_private", "terminated", "truncated", "executed", "traded"),
)
"""Parts that a rollout takes from a `TaskStep` as they are."""


def allocate_rollout(task: Task, n_steps: int, extras: TransitionExtras = _NOTHING) -> Rollout:
    """Reserve the memory of a rollout on the task's device; `collect_rollout` fills it.

    Args:
        task: What is collected.
        n_steps: S.
        extras: What is kept besides; the task must deliver it.
    """
    shape = (n_steps, len(task.agent_names), task.n_envs)
    device, n_codes = task.table.device, task.action.n_actions

    def reserve(dtype: torch.dtype, *more: int) -> Tensor:
        return torch.zeros(*shape, *more, dtype=dtype, device=device)

    components = task.action.shape
    action = reserve(torch.int64 if n_codes else torch.float32, *components)
    n_drawn = tuple(count - (task.action.kind == "simplex") for count in components)
    terms = (len(task.term_names), *shape[1:])
    return Rollout(
        **{name: reserve(torch.int64) for name in ("row", "final_row", "executed")},
        **{name: reserve(torch.bool) for name in ("terminated", "truncated", "traded")},
        **{name: reserve(torch.float32) for name in ("log_prob", "reward")},
        **{name: reserve(torch.float32, task.n_private) for name in ("private", "final_private")},
        allowed=reserve(torch.bool, n_codes),
        action=action,
        drawn=reserve(action.dtype, *n_drawn),
        terms=torch.zeros(terms, device=device),
        duration=reserve(torch.float32) if extras.duration else None,
        discount=reserve(torch.float32) if extras.discount else None,
        episode=reserve(torch.int64) if extras.episode else None,
        goal=reserve(torch.float32, extras.n_goal) if extras.n_goal else None,
        turnover=reserve(torch.float32) if extras.turnover else None,
        step_terms=torch.zeros(n_steps, *terms, device=device) if extras.terms else None,
    )


@torch.no_grad()
def collect_rollout(
    task: Task,
    state: TaskState,
    observation: Observation,
    choose: Callable[[Observation], Choice],
    rollout: Rollout,
) -> tuple[TaskState, Observation]:
    """Fill a rollout from a state on; return the state and observation after it.

    Raises:
        ConfigError: If the task does not deliver what the rollout keeps.
    """
    rollout.terms.zero_()
    extras = _kept_extras(rollout)
    for t in range(len(rollout.row)):
        choice = choose(observation)
        made = task.step(state, choice.action)
        for kept, seen in zip(rollout[:3], observation, strict=True):
            kept[t] = seen
        for kept, chosen in zip(rollout[3:6], choice, strict=True):
            kept[t] = chosen
        for name in _OF_STEPS:
            getattr(rollout, name)[t] = getattr(made, name)
        rollout.terms.add_(made.terms)
        for name, kept in extras.items():
            kept[t] = delivered(made, name)
        state, observation = made.state, made.observation
    return state, observation


def _kept_extras(rollout: Rollout) -> dict[str, Tensor]:
    """Return what is kept besides, by its name in a `TaskStep`."""
    names = ("duration", "discount", "episode", "goal", "turnover")
    parts = {name: getattr(rollout, name) for name in names}
    parts["terms"] = rollout.step_terms
    return {name: kept for name, kept in parts.items() if kept is not None}
