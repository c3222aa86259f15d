"""What SAC remembers: transitions with the rewards it learns from, and how large those are."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.hindsight import Hindsight
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Part
from tradingbot.learning.replay import Replay, Transitions, transitions_of
from tradingbot.learning.reward_transform import RewardTransform
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.step_rewards import StepRewards
from tradingbot.learning.task import Observation, Task, TaskStep, extras_of, transition_discount


class RewardScale(nn.Module):
    """Running standard deviation of each agent's rewards; a module: its sums are its state.

    How large rewards are, so that critics can count in units of that.
    """

    sums: Tensor
    """(3, N) float64: how many, their sum, the sum of their squares."""

    def __init__(self, n_agents: int, device: torch.device | str = "cpu") -> None:
        """Begin without a reward."""
        super().__init__()
        self.register_buffer("sums", torch.zeros(3, n_agents, dtype=torch.float64, device=device))

    @torch.no_grad()
    def insert(self, reward: Tensor) -> None:
        """Count rewards (N, B)."""
        double = reward.double()
        count = torch.full_like(double[:, 0], reward.shape[1])
        self.sums.add_(torch.stack([count, double.sum(-1), double.square().sum(-1)]))

    def deviation(self) -> Tensor:
        """Return the standard deviation (N,) float32 so far; 1 where nothing has varied yet."""
        count, total, squares = self.sums.unbind(0)
        mean = total / count.clamp_min(1.0)
        variance = squares / count.clamp_min(1.0) - mean.square()
        # Below this it is rounding of equal rewards, not variation.
        varies = variance > 1e-12 * mean.square()
        return torch.where(varies, variance, 1.0).clamp_min(1e-30).sqrt().float()


class TransitionMemory:
    """Replay, the scale of its rewards, and what transforms them on their way in."""

    def __init__(
        self, task: Task, config: SACConfig, reward_transform: RewardTransform | None
    ) -> None:
        """Reserve all memory on the task's device.

        Raises:
            ConfigError: If goals are to be relabelled, and there are none or rewards are changed.
        """
        self._config, self._rewards = config, StepRewards(reward_transform, config.discount)
        self._hindsight = None
        self._extras = replace(
            extras_of(task), episode=False, n_goal=0, achieved=False, terms=False
        )
        if config.hindsight.strategy != "off":
            require_paid_rewards(reward_transform)
            self._hindsight = Hindsight(task, config.hindsight)
            self._extras = replace(extras_of(task), terms=False, reward=False)
        n_agents, device = len(task.agent_names), task.table.device
        hindsight = self._hindsight
        self.replay = Replay(
            n_agents,
            task.n_envs,
            task.n_private if hindsight is None else hindsight.n_kept,
            capacity=config.buffer_size,
            n_components=task.action.n_components,
            extras=self._extras,
            device=device,
        )
        self.reward_scale = RewardScale(n_agents, device)

    @torch.no_grad()
    def insert(self, before: Observation, action: Tensor, step: TaskStep) -> None:
        """Remember one step of all environments, with the reward that is to be learned from."""
        transitions = transitions_of(before, action, step, self._extras)
        transitions = transitions._replace(reward=self._rewards.paid(before, action, step))
        self.reward_scale.insert(transitions.reward)
        if self._hindsight is not None:
            transitions = self._hindsight.strip(transitions)
        self.replay.insert(transitions)

    def learn_transform(self) -> Metrics:
        """Let the transform learn from what was inserted since the last call; return figures."""
        return self._rewards.learn()

    def take_figures(self) -> Metrics:
        """Return figures of what was drawn since the last call; none without hindsight."""
        return {} if self._hindsight is None else self._hindsight.take_figures()

    def sample(self, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw transitions (N, M, …); rewards in units of their deviation where that is asked for.

        Where transitions have durations, their discounts are γ to the power of those.
        """
        if self._hindsight is None:
            sampled = self.replay.sample(n_samples, generator)
        else:
            sampled = self._hindsight.sample(self.replay, n_samples, generator)
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
            **self._rewards.parts(),
        }


def require_paid_rewards(transform: RewardTransform | None) -> None:
    """Refuse to relabel rewards that were changed: what a goal pays is known, the rest is not."""
    if transform is not None:
        raise ConfigError(
            "rewards must be learned from as they are paid where goals are relabelled",
            was=type(transform).__name__,
            remedy="Set hindsight.strategy to off, or leave the reward transform out",
        )
