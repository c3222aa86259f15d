"""Rewards of single steps, changed before they are remembered: the same for both kinds of SAC."""

from __future__ import annotations

from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Part
from tradingbot.learning.reward_transform import (
    RewardTransform,
    steps_of_tasks,
    transform_parts,
    transform_rewards,
)
from tradingbot.learning.task import Observation, TaskStep


class StepRewards:
    """Changes the rewards of steps one by one, and learns from those of an update together."""

    def __init__(self, transform: RewardTransform | None, discount: float) -> None:
        """Take a transform; None leaves rewards as they were paid.

        Args:
            transform: Changes rewards, and learns.
            discount: γ per step of the task's clock, for steps that took a while.
        """
        self._transform, self._discount = transform, discount
        self._since: list[tuple[Observation, Tensor, TaskStep]] = []

    def paid(self, before: Observation, action: Tensor, step: TaskStep) -> Tensor:
        """Return the rewards (N, B) to learn from, and keep the step to be learned from."""
        if self._transform is None:
            return step.reward
        made = (before, action, step)
        self._since.append(made)
        needs_terms = self._transform.needs_terms
        steps = steps_of_tasks([made], needs_terms=needs_terms, discount=self._discount)
        return transform_rewards(self._transform, steps)[0]

    def learn(self) -> Metrics:
        """Let the transform learn from the steps since the last call; return its figures."""
        if self._transform is None:
            return {}
        needs_terms = self._transform.needs_terms
        steps = steps_of_tasks(self._since, needs_terms=needs_terms, discount=self._discount)
        self._since = []
        return self._transform.learn(steps)

    def parts(self) -> dict[str, Part]:
        """Return what resuming needs; none without a transform."""
        return transform_parts(self._transform)
