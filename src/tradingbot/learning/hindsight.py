"""Hindsight replay: steps that missed their goal are learned from as if they had aimed elsewhere.

Of every k + 1 transitions of a batch, k get a goal that was reached: by a later step of the same
episode, by any step of it, or by any step at all (Andrychowicz et al. 2017, arXiv:1707.01495).

What a goal shows and pays is worked out for every transition that is drawn, whichever goal it has:
neither is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.learner import Metrics
from tradingbot.learning.replay import Replay, Transitions
from tradingbot.learning.task import Task, extras_of


class GoalRelabelling(Protocol):
    """A task whose transitions can be seen as if another goal had been aimed for."""

    n_own: int
    """The first private numbers, which do not show the goal; all after them do."""

    def require_relabelling(self) -> None:
        """Refuse where what agents see does not suffice.

        Raises:
            ConfigError: Saying what is missing.
        """

    def relabel(self, transitions: Transitions, goal: Tensor) -> Transitions:
        """Return transitions (N, M, …) with a goal (N, M, G): what is seen of it, what it pays.

        Of private numbers the first `n_own` are read, of the reward nothing: they may be missing.
        """

    def goal_reward(self, achieved: Tensor, goal: Tensor) -> Tensor:
        """Return what goals (…, G) pay where so much (…, G) was reached, (…)."""


class Hindsight:
    """Draws batches of which a share has other goals."""

    def __init__(self, task: Task, config: HindsightConfig) -> None:
        """Take a task with goals.

        Raises:
            ConfigError: If the task has none, or what agents see does not suffice.
        """
        carries = extras_of(task)
        relabels = hasattr(task, "relabel") and carries.achieved and carries.episode
        if not relabels or config.strategy == "off":
            raise ConfigError(
                "hindsight must have goals to relabel",
                was=f"{type(task).__name__} with strategy {config.strategy}",
                remedy="Train in environment.kind goal, or set hindsight.strategy to off",
            )
        self._task: GoalRelabelling = task  # type: ignore[assignment]
        self._task.require_relabelling()
        self._config = config
        self._counts = torch.zeros(2, len(task.agent_names), device=task.table.device)
        """(2, N): transitions drawn since the last figures, and those with another goal."""

    @property
    def n_kept(self) -> int:
        """How many private numbers of a transition have to be kept."""
        return self._task.n_own

    def strip(self, transitions: Transitions) -> Transitions:
        """Return transitions (N, M, …) without the private numbers that show the goal."""
        own = slice(self.n_kept)
        return transitions._replace(
            private=transitions.private[..., own], final_private=transitions.final_private[..., own]
        )

    def sample(self, replay: Replay, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw transitions (N, M, …), the first of them with goals that were reached.

        Places are drawn one by one, so that it does not matter which of a batch they are.
        """
        return self._task.relabel(*self.draw(replay, n_samples, generator))

    def draw(
        self, replay: Replay, n_samples: int, generator: torch.Generator
    ) -> tuple[Transitions, Tensor]:
        """Draw transitions (N, M, …) as they were, and the goals (N, M, G) that are to count."""
        strategy = self._config.strategy
        assert strategy != "off"
        n_others = round(self._config.ratio * n_samples)
        drawn, other = replay.sample_with_others(
            n_samples, generator, strategy=strategy, n_others=n_others
        )
        assert drawn.goal is not None
        goal = torch.cat([replay.achieved_at(other), drawn.goal[:, n_others:]], dim=1)
        self._counts[0] += n_samples
        self._counts[1] += (goal != drawn.goal).any(-1).sum(-1)
        return drawn, goal

    def take_figures(self) -> Metrics:
        """Return the share (N,) of transitions drawn since the last call that have another goal."""
        if not self._counts[0].any():
            return {}
        share = self._counts[1] / self._counts[0]
        self._counts.zero_()
        return {"hindsight/relabelled_share": share}


RewardOfGoal = Callable[[Transitions], Tensor]
"""Transitions (N, M, …) with the goal that counts → rewards (N, M)."""


def relabel_goals(
    transitions: Transitions, goal: Tensor, reward: RewardOfGoal, *, n_own: int | None = None
) -> Transitions:
    """Return transitions as if another goal had been aimed for (Andrychowicz et al. 2017).

    Args:
        transitions: (N, M, …).
        goal: (N, M, G) that counts now, e.g. what a later step of the episode reached.
        reward: What the transitions earn with it.
        n_own: The first private numbers, behind which the goal is shown. None: it is not shown.
    """
    changed = transitions._replace(goal=goal)
    if n_own is not None:
        both = (transitions.private, transitions.final_private)
        private, final = (torch.cat([each[..., :n_own], goal], dim=-1) for each in both)
        changed = changed._replace(private=private, final_private=final)
    return changed._replace(reward=reward(changed))
