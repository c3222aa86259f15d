"""What SAC remembers: transitions with the rewards it learns from, and how large those are."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Part
from tradingbot.learning.replay import Replay, Transitions, transitions_of
from tradingbot.learning.reward_transform import (
    RewardTransform,
    steps_of_tasks,
    transform_parts,
    transform_rewards,
)
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.reward_scale import RewardScale
from tradingbot.learning.task import Observation, Task, TaskStep
from tradingbot.learning.transition_extras import extras_of, transition_discount


class TransitionMemory:
    """Replay, the scale of its rewards, and what transforms them on their way in."""

    def __init__(
        self, task: Task, config: SACConfig, reward_transform: RewardTransform | None
    ) -> None:
        """Reserve all memory on the task's device."""
        self._config, self._transform = config, reward_transform
        self._extras = replace(extras_of(task), episode=False, n_goal=0, terms=False)
        n_agents, device = len(task.agent_names), task.table.device
        self.replay = Replay(
            n_agents,
            task.n_envs,
            task.n_private,
            capacity=config.buffer_size,
            n_components=task.action.n_components,
            extras=self._extras,
            device=device,
        )
        self.reward_scale = RewardScale(n_agents, device)
        self._since: list[tuple[Observation, Tensor, TaskStep]] = []

    @torch.no_grad()
    def insert(self, before: Observation, action: Tensor, step: TaskStep) -> None:
        """Remember one step of all environments, with the reward that is to be learned from."""
        transitions = transitions_of(before, action, step, self._extras)
        if self._transform is not None:
            self._since.append((before, action, step))
            steps = steps_of_tasks(self._since[-1:], needs_terms=self._transform.needs_terms)
            transitions = transitions._replace(reward=transform_rewards(self._transform, steps)[0])
        self.replay.insert(transitions)
        self.reward_scale.insert(transitions.reward)

    def learn_transform(self) -> Metrics:
        """Let the transform learn from what was inserted since the last call; return figures."""
        if self._transform is None:
            return {}
        steps = steps_of_tasks(self._since, needs_terms=self._transform.needs_terms)
        self._since = []
        return self._transform.learn(steps)

    def sample(self, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw transitions (N, M, …); rewards in units of their deviation where that is asked for.

        Where transitions have durations, their discounts are γ to the power of those.
        """
        sampled = self.replay.sample(n_samples, generator)
        if self._config.scale_rewards:
            scaled = sampled.reward / self.reward_scale.deviation()[:, None]
            sampled = sampled._replace(reward=scaled)
        own = transition_discount(self._config.discount, sampled.duration, sampled.discount)
        return sampled._replace(discount=own) if isinstance(own, Tensor) else sampled

    def parts(self) -> dict[str, Part]:
        """Return what resuming needs; all of it is restored in place."""
        return {
            "replay": self.replay,
            "reward_scale": self.reward_scale,
            **transform_parts(self._transform),
        }
