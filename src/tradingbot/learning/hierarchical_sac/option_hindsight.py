"""Steps and options that missed their goal, learned from as if they had aimed elsewhere.

An option that took k steps is one semi-Markov step: with another goal it earns Σ γ^i r_i of that
goal, worked out anew from what each of its steps reached. What both levels see of the goal becomes
that of the other one; options begin, act and end as they did, since they know no goals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.ended_options import EndedOptions
from tradingbot.learning.hindsight import GoalRelabelling, Hindsight
from tradingbot.learning.learner import Metrics
from tradingbot.learning.replay import Replay, Transitions
from tradingbot.learning.reward_transform import RewardTransform
from tradingbot.learning.sac.memory import require_paid_rewards
from tradingbot.learning.task import Task, TransitionExtras, extras_of


class OptionDraws(Protocol):
    """Draws what both levels learn from."""

    kept: TransitionExtras
    """What steps and options must keep of goals."""

    def steps(self, replay: Replay, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw steps (N, M, …) of the low level."""

    def options(
        self, ended: EndedOptions, n_samples: int, generator: torch.Generator
    ) -> Transitions:
        """Draw options (N, M, …) that ended."""

    def take_figures(self) -> Metrics:
        """Return figures of what was drawn since the last call."""


def option_draws(
    task: Task, config: HierarchicalSACConfig, reward_transform: RewardTransform | None = None
) -> OptionDraws:
    """Return how steps and options are drawn: as they were, or some with other goals.

    Raises:
        ConfigError: If goals are to be relabelled, and there are none or rewards are changed.
    """
    if config.hindsight.strategy == "off":
        return AsTheyWere()
    require_paid_rewards(reward_transform)
    return OptionHindsight(task, config)


class AsTheyWere:
    """Draws what was, uniformly."""

    kept = TransitionExtras()

    def steps(self, replay: Replay, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw steps (N, M, …)."""
        return replay.sample(n_samples, generator)

    def options(
        self, ended: EndedOptions, n_samples: int, generator: torch.Generator
    ) -> Transitions:
        """Draw options (N, M, …)."""
        return ended.sample(n_samples, generator)

    def take_figures(self) -> Metrics:
        """Return none: every goal stays as it was."""
        return {}


class OptionHindsight:
    """Draws batches of which a share has goals that were reached."""

    def __init__(self, task: Task, config: HierarchicalSACConfig) -> None:
        """Take a task with goals.

        Raises:
            ConfigError: If it has none, or what agents see does not suffice.
        """
        self._hindsight = Hindsight(task, config.hindsight)
        self._task: GoalRelabelling = task  # type: ignore[assignment]
        self._n_private, self._discount = task.n_private, config.discount
        self.kept = replace(extras_of(task), terms=False, turnover=False)

    def steps(self, replay: Replay, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw steps (N, M, …); what is kept of options behind private numbers stays."""
        drawn, goal = self._hindsight.draw(replay, n_samples, generator)
        own, kept = drawn.private.split_with_sizes(self._sizes(drawn), -1)
        final = drawn.final_private[..., : self._n_private]
        seen = self._task.relabel(drawn._replace(private=own, final_private=final), goal)
        return seen._replace(
            private=torch.cat([seen.private, kept], -1),
            final_private=torch.cat([seen.final_private, kept], -1),
        )

    def options(
        self, ended: EndedOptions, n_samples: int, generator: torch.Generator
    ) -> Transitions:
        """Draw options (N, M, …) with what they earn by the goals that count."""
        drawn, goal = self._hindsight.draw(ended, n_samples, generator)
        return self._task.relabel(drawn, goal)._replace(reward=self.earned(drawn, goal))

    def take_figures(self) -> Metrics:
        """Return the share (N,) of steps and options drawn that have another goal."""
        return self._hindsight.take_figures()

    def earned(self, options: Transitions, goal: Tensor) -> Tensor:
        """Return Σ γ^i r_i of options (N, M, …) by goals (N, M, G), over the steps they took."""
        assert options.course is not None
        assert options.duration is not None
        course = options.course
        step = torch.arange(course.shape[-2], device=course.device)
        took = step < options.duration[..., None]
        paid = self._task.goal_reward(course, goal[..., None, :].expand(course.shape))
        return torch.where(took, self._discount**step * paid, 0.0).sum(-1)

    def _sizes(self, drawn: Transitions) -> list[int]:
        return [self._n_private, drawn.private.shape[-1] - self._n_private]
