"""What happens to rewards between collecting and value targets: curiosity, shaping, objectives.

A transform reads collected steps and returns the rewards that are learned from. It is free of
gradients towards the policy: it is called without them, on tensors without a history, and what it
learns itself it learns from the same tensors. What the task paid stays what is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Part
from tradingbot.learning.task import Observation, TaskStep

InPlacePart = nn.Module | Optimizer | torch.Generator
"""Part of a learner's state that is restored where it is."""
_STATE = "reward_transform/"


class CollectedSteps(NamedTuple):
    """S steps of N agents in B environments, without gradients."""

    row: Tensor
    """(S, N, B) int64, what was seen: row of the task's table."""
    private: Tensor
    """(S, N, B, P)"""
    action: Tensor
    """(S, N, B), or (S, N, B, K) for vectors, as the task got it."""
    reward: Tensor
    """(S, N, B) as the task paid it."""
    final_row: Tensor
    """(S, N, B) int64, what followed, before any reset."""
    final_private: Tensor
    """(S, N, B, P)"""
    terminated: Tensor
    """(S, N, B) bool, nothing follows: a potential is 0 there."""
    truncated: Tensor
    """(S, N, B) bool"""
    terms: Tensor | None = None
    """(S, K, N, B) reward terms, where the transform needs them; their sum is the reward."""


class RewardTransform(Protocol):
    """Changes rewards before values are estimated from them; may learn on its own."""

    needs_terms: bool
    """Whether it reads `CollectedSteps.terms`."""

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return the rewards (S, N, B) to learn from; called without gradients."""

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Learn from the steps of an update, after their rewards were transformed.

        Returns:
            Figures of its own, (N,) or (), reported beside the learner's.
        """

    def parts(self) -> Mapping[str, InPlacePart]:
        """Return what resuming bit for bit needs: modules, optimisers, generators, by name."""


def transform_rewards(transform: RewardTransform | None, steps: CollectedSteps) -> Tensor:
    """Return the rewards (S, N, B) to learn from; without a transform those of the task.

    Raises:
        ConfigError: If the transform returns another shape.
    """
    if transform is None:
        return steps.reward
    with torch.no_grad():
        reward = transform.transform(steps)
    if reward.shape != steps.reward.shape:
        rule = f"transformed rewards must have shape {tuple(steps.reward.shape)}"
        raise ConfigError(rule, was=str(tuple(reward.shape)), where=type(transform).__name__)
    return reward.detach()


def transform_parts(transform: RewardTransform | None) -> dict[str, Part]:
    """Return the parts of a transform as parts of its learner's state; none without one."""
    parts = {} if transform is None else transform.parts()
    return {_STATE + name: part for name, part in parts.items()}


def steps_of_tasks(
    made: Sequence[tuple[Observation, Tensor, TaskStep]], *, needs_terms: bool
) -> CollectedSteps:
    """Lay out single steps, each with what was seen and done before it."""
    columns = [
        (
            *(seen.row, seen.private, action, step.reward, step.final_row, step.final_private),
            *(step.terminated, step.truncated),
            *((step.terms,) if needs_terms else ()),
        )
        for seen, action, step in made
    ]
    return CollectedSteps(*(torch.stack(column).detach() for column in zip(*columns, strict=True)))
