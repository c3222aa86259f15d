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
from tradingbot.learning.task import Observation, TaskStep, transition_discount

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
    discount: Tensor | None = None
    """(S, N, B) what the value of what followed counts for, where steps have their own; None: γ."""


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


class TransformChain:
    """Several transforms, each changing the rewards that the one before it returned."""

    def __init__(self, transforms: Mapping[str, RewardTransform]) -> None:
        """Take transforms by name, in their order."""
        self._transforms = dict(transforms)
        self.needs_terms = any(each.needs_terms for each in self._transforms.values())

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return the rewards (S, N, B) after the last transform."""
        for each in self._transforms.values():
            steps = steps._replace(reward=transform_rewards(each, steps))
        return steps.reward

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Let each learn from what the task paid; return all their figures."""
        figures: Metrics = {}
        for each in self._transforms.values():
            figures |= each.learn(steps)
        return figures

    def parts(self) -> Mapping[str, InPlacePart]:
        """Return the parts of all, named after their transform."""
        return {
            f"{name}/{key}": part
            for name, each in self._transforms.items()
            for key, part in each.parts().items()
        }


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
    made: Sequence[tuple[Observation, Tensor, TaskStep]],
    *,
    needs_terms: bool,
    discount: float,
) -> CollectedSteps:
    """Lay out single steps, each with what was seen and done before it.

    Args:
        made: Observation, action and step of each.
        needs_terms: Whether reward terms are kept.
        discount: γ per step of the task's clock, for steps that took a while.
    """
    columns = [
        (
            *(seen.row, seen.private, action, step.reward, step.final_row, step.final_private),
            *(step.terminated, step.truncated),
            *((step.terms,) if needs_terms else ()),
        )
        for seen, action, step in made
    ]
    steps = CollectedSteps(*(torch.stack(column).detach() for column in zip(*columns, strict=True)))
    own = [transition_discount(discount, step.duration, step.discount) for _, _, step in made]
    counted = [each for each in own if isinstance(each, Tensor)]
    return steps._replace(discount=torch.stack(counted)) if counted else steps
