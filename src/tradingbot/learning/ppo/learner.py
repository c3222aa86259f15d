"""PPO: collects a rollout, estimates advantages, and learns from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from tradingbot.learning.action_policy import Policy, normalise_entropy, round_action
from tradingbot.learning.entropy import begin_entropy, entropy_coefficient, watch_entropy
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Experience, Metrics, Update
from tradingbot.learning.learner_state import Part, name_parts
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.improvement import LossWeights, PolicyImprover
from tradingbot.learning.ppo.loss import ValueScale, explained_variance, normalise
from tradingbot.learning.ppo.pairing import pair_envs, rejoin_twins, subtract_twins
from tradingbot.learning.ppo.samples import group_samples
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.reward_transform import RewardTransform, transform_parts
from tradingbot.learning.rollout import Choice, Rollout, allocate_rollout, collect_rollout
from tradingbot.learning.rollout_rewards import transform_rollout
from tradingbot.learning.task import (
    Observation,
    Task,
    extras_of,
    members_of,
    transition_discount,
)
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.learning.value_targets import generalized_advantage
from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.view import View

_VALUE_ROWS = 1 << 16
"""Samples of all agents per pass of the critic: what its hidden layer may take in memory."""


class PPO(TaskLearner):
    """Learns a task by proximal policy optimisation; see docs/algorithms/ppo.md."""

    name = "ppo"
    _STATE = name_parts(
        *("view", "_improver.optimiser", "_improver.entropy_noise", "_improver.shuffle"),
        *("_entropy", "_entropy_scale", "_value_scale", "_rate_scale", "steps", "updates"),
        heads="network",
        policy_noise="_exploration",
        task="_state",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: PPOConfig,
        *,
        seed: int,
        reward_transform: RewardTransform | None = None,
        auxiliary: AuxiliaryLoss | None = None,
    ) -> None:
        """Draw weights and open the environments; everything lives on the task's device.

        Args:
            task: With actions of any kind; steps may have durations or discounts of their own.
            view: How rows of the task's table are seen; learns too if it can.
            config: Settings.
            seed: Root of all random streams.
            reward_transform: Changes rewards before advantages are estimated; none by default.
            auxiliary: A loss beside its own, of the encoder that the view learns; none by default.
        """
        task = pair_envs(task, config.paired_envs)
        super().__init__(task, view, auxiliary)
        self.config, self._reward_transform = config, reward_transform
        weights, n_inputs = make_generator(seed, "ppo", "weights"), view.width + task.n_private
        members = members_of(task)
        network = ActorCritic(self._n_agents, n_inputs, task.action, config, weights, members)
        self.network = network.to(self.device)
        self._acting = {"heads": self.network}
        self._exploration = make_generator(seed, "ppo", "policy", device=self.device)
        self._improver = PolicyImprover(self.network, view, config, auxiliary, seed=seed)
        self._entropy = begin_entropy(self._n_agents, self.device)
        self._value_scale = ValueScale.begin(self._n_agents, self.device)
        needs_terms = reward_transform is not None and reward_transform.needs_terms
        extras = replace(extras_of(task), episode=False, n_goal=0, terms=needs_terms)
        self._rollout = allocate_rollout(task, config.rollout_steps, extras)
        self._widen()

    def update(self) -> Update:
        """Collect a rollout and learn from it."""
        rollout = self._rollout
        self._rejoin_twins()
        self._state, self._observation = collect_rollout(
            self.task, self._state, self._observation, self._choose, rollout
        )
        self.steps += rollout.reward.shape[0] * rollout.reward.shape[2]
        transform = self._reward_transform
        learned_from, figures = transform_rollout(transform, rollout, self.config.discount)
        advantage, target, metrics = self._judge(learned_from)
        metrics |= figures | self._learn(rollout, advantage, target)
        self.view.refresh()
        self.updates += 1
        self._widen()
        told = ("action", "executed", "traded", "reward", "terms", "turnover")
        parts = (getattr(rollout, name) for name in told)
        experience = Experience(*(part for part in parts if part is not None))
        return Update(metrics, experience.copy())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; see `Resumable`."""
        super().load_state(state)
        self._widen()

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return the mode of the policy, (N, B) or (N, B, K), rounded to `act_levels` if any."""
        mode = self._policy(observation).mode()
        return round_action(self.task.action, mode, self.config.act_levels)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions (N, B) drawn from the policy."""
        return self._choose(observation).action

    def _parts(self) -> dict[str, Part]:
        return super()._parts() | transform_parts(self._reward_transform)

    def _widen(self) -> None:
        """Set the least deviation that the next rollout is drawn, and learned from, with."""
        self.network.min_std = self.config.min_std.at(self.steps)

    def _rejoin_twins(self) -> None:
        if self.config.paired_envs > 1:
            row = self._observation.row
            self._state = rejoin_twins(self._state, row, self.config.paired_envs)
            self._observation = self.task.observe(self._state)

    def _policy(self, observation: Observation) -> Policy:
        inputs = self._see(observation.row, observation.private)
        return self.network.policy(inputs, observation.allowed)

    def _choose(self, observation: Observation) -> Choice:
        policy = self._policy(observation)
        drawn = policy.sample(self._exploration)
        squashed = drawn if isinstance(policy, MaskedCategorical) else policy.squash(drawn)
        return Choice(squashed, drawn, policy.log_prob(drawn))

    @torch.no_grad()
    def _judge(self, rollout: Rollout) -> tuple[Tensor, Tensor, Metrics]:
        """Return advantages, value targets in the critic's units, (S, N, B), and metrics."""
        value_t = self._values(rollout.row, rollout.private)
        value_tp1 = self._values(rollout.final_row, rollout.final_private)
        discount = transition_discount(self.config.discount, rollout.duration, rollout.discount)
        ends = (rollout.terminated, rollout.truncated)
        advantage = generalized_advantage(
            rollout.reward, value_t, value_tp1, *ends, discount=discount, decay=self.config.decay
        )
        target = advantage + value_t
        by_agent = (x.transpose(0, 1).flatten(1) for x in (value_t, target))
        metrics = {
            "rollout/reward": rollout.reward.mean((0, 2)),
            "rollout/trade_share": rollout.traded.float().mean((0, 2)),
            "value/mean": value_t.mean((0, 2)),
            "value/explained_variance": explained_variance(*by_agent),
        }
        if self.config.paired_envs > 1:
            twins = (rollout.row, self.config.paired_envs)
            advantage, paired = subtract_twins(advantage, *twins)
            metrics["rollout/paired_share"] = paired.float().mean((0, 2))
        if self.config.normalise_values:
            self._value_scale = self._value_scale.with_targets(target)
            target = self._value_scale.to_critic(target)
        return advantage, target, metrics

    def _values(self, row: Tensor, private: Tensor) -> Tensor:
        """Return values (S, N, B) in units of the reward, a few steps at a time."""
        chunk = max(1, _VALUE_ROWS // row[0].numel())
        made = []
        for rows, privates in zip(
            torch.split(row, chunk), torch.split(private, chunk), strict=True
        ):
            inputs = self._see(rows, privates)
            steps, n_agents, n_envs = rows.shape
            inputs = inputs.transpose(0, 1).reshape(n_agents, steps * n_envs, -1)
            value = self.network.value(inputs).view(n_agents, steps, n_envs)
            made.append(value.transpose(0, 1))
        value = torch.cat(made)
        return self._value_scale.to_reward(value) if self.config.normalise_values else value

    def _learn(self, rollout: Rollout, advantage: Tensor, target: Tensor) -> Metrics:
        config = self.config
        if config.normalise_advantages == "rollout":
            by_agent = advantage.transpose(0, 1)
            advantage = normalise(by_agent.flatten(1)).view(by_agent.shape).transpose(0, 1)
        length = config.segment_bars if self._view_learns else 1
        samples = group_samples(rollout, advantage, target, length)
        rate = config.learning_rate.at(self.steps) * self._rate_scale
        coefficient = self._entropy_scale * entropy_coefficient(
            config.entropy, self._entropy, self.steps
        )
        clip = config.clip.at(self.steps)
        weights = LossWeights(self._agent_weight, coefficient, clip)
        metrics = self._improver.improve(samples, weights, rate=rate)
        if self._auxiliary is not None:
            metrics |= self._auxiliary.take_metrics()
        normalised_entropy = normalise_entropy(self.task.action, metrics["policy/entropy"])
        self._entropy = watch_entropy(config.entropy, self._entropy, normalised_entropy, self.steps)
        return metrics | {
            "policy/normalised_entropy": normalised_entropy,
            "policy/entropy_weight": coefficient,
            "policy/entropy_boost": self._entropy.boost,
            "policy/clip_range": torch.tensor(clip),
            "policy/halt": self._entropy.halts.float(),
            "policy/deviation": self.network.actor.penalty().detach(),
            "learning/rate": torch.tensor(rate),
        }
