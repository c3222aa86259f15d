"""IMPALA: actors collect with weights of before while the learner learns; V-trace makes up for it.

Source: Espeholt et al. 2018 (arXiv:1802.01561).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tradingbot.learning.action_policy import Policy, normalise_entropy, round_action
from tradingbot.learning.generators import begin_another, make_generator
from tradingbot.learning.impala.actor import ActorSetting, Collected, drawn_choice
from tradingbot.learning.impala.actors import Actors, LocalActors, RemoteActors
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.impala.improvement import Corrected, VTraceImprover
from tradingbot.learning.impala.orders import Orders, Weights, join_rollouts
from tradingbot.learning.learner import Experience, Metrics, Update
from tradingbot.learning.learner_state import Part, name_parts
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.loss import ValueScale, explained_variance, normalise
from tradingbot.learning.reward_transform import RewardTransform, transform_parts
from tradingbot.learning.rollout import Rollout
from tradingbot.learning.rollout_rewards import transform_rollout
from tradingbot.learning.task import Observation, Task, keep_envs, transition_discount
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.learning.value_targets import VTrace, vtrace
from tradingbot.networks.view import View


class IMPALA(TaskLearner):
    """Learns from rollouts of actors that are an update or more behind; docs/algorithms/impala.md.

    Where `asynchronous` is false every rollout is made with the weights before the update that goes
    on meanwhile: the lag is 1, and state and orders are all that resuming to the bit needs.
    """

    name = "impala"
    _STATE = name_parts(
        *("view", "_improver.optimiser", "_improver.entropy_noise", "_improver.shuffle"),
        *("_entropy_scale", "_value_scale", "_rate_scale", "steps", "updates", "_orders"),
        heads="network",
        policy_noise="_exploration",
        task="_state",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: IMPALAConfig,
        *,
        seed: int,
        reward_transform: RewardTransform | None = None,
    ) -> None:
        """Draw weights, open the environments, and divide them among actors.

        Args:
            task: With actions of any kind; its environments can be divided.
            view: How rows of the task's table are seen; it does not learn.
            config: Settings.
            seed: Root of all random streams.
            reward_transform: Changes rewards of rollouts before V-trace; none by default.

        Raises:
            ConfigError: If the environments cannot be divided among the actors.
        """
        super().__init__(task, view)
        self.config, self._reward_transform = config, reward_transform
        sizes = (self._n_agents, view.width + task.n_private, task.action)
        weights = make_generator(seed, "impala", "weights")
        self.network = ActorCritic(*sizes, config, weights).to(self.device)
        self._acting = {"heads": self.network}
        self._exploration = make_generator(seed, "impala", "policy", device=self.device)
        self._orders = Orders(task, config, self._weights(), seed=seed)
        self._divided = [
            keep_envs(task, first, self._orders.share)
            for first in range(0, task.n_envs, self._orders.share)
        ]
        self._improver = VTraceImprover(self.network, view, config, seed=seed)
        self._value_scale = ValueScale.begin(self._n_agents, self.device)
        self._actors: Actors | None = None
        self._is_asked = False

    def update(self) -> Update:
        """Take one rollout per actor, ask for the next ones, and learn while they are made."""
        actors = self._open_actors()
        if not self._is_asked:
            self._ask_all(actors)
        made = [self._take(actors) for _ in range(self.config.actors)]
        if not self.config.asynchronous:
            made.sort(key=lambda each: each.order.actor)
            self._go_on(made)
            self._ask_all(actors)
        lags = torch.tensor([float(self.updates - each.order.version) for each in made])
        rollout = join_rollouts([each.rollout for each in made])
        metrics = self._learn(Rollout(*(_on(part, self.device) for part in rollout)))
        self.steps += self.config.rollout_steps * self.task.n_envs
        self.updates += 1
        metrics |= {
            "actors/lag": lags.mean(),
            "actors/largest_lag": lags.max(),
            "actors/lost": torch.tensor(float(actors.n_lost)),
        }
        return Update(metrics, _experience(rollout))

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return the mode of the policy, (N, B) or (N, B, K), rounded to `act_levels` if any."""
        mode = self._policy(observation).mode()
        return round_action(self.task.action, mode, self.config.act_levels)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions (N, B) or (N, B, K) drawn from the policy."""
        inputs = self._see(observation.row, observation.private)
        return drawn_choice(self.network, inputs, observation.allowed, self._exploration).action

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; rollouts under way are made again."""
        self._forget_rollouts()
        super().load_state(state)

    def explore_anew(self, number: int) -> None:
        """Let actors, and samples, draw from other streams."""
        self._forget_rollouts()
        super().explore_anew(number)
        begin_another(self._orders.draws, number)
        self._orders.draw_anew()

    def _parts(self) -> dict[str, Part]:
        return super()._parts() | transform_parts(self._reward_transform)

    def _policy(self, observation: Observation) -> Policy:
        inputs = self._see(observation.row, observation.private)
        return self.network.policy(inputs, observation.allowed)

    def _open_actors(self) -> Actors:
        if self._actors is None:
            transform = self._reward_transform
            needs_terms = transform is not None and transform.needs_terms
            settings = [
                ActorSetting(part, self.view, self.config, needs_terms) for part in self._divided
            ]
            kind = RemoteActors if self.config.in_processes else LocalActors
            self._actors = kind(settings)
        return self._actors

    def _ask_all(self, actors: Actors) -> None:
        for actor in range(self.config.actors):
            actors.ask(self._orders.order(actor, self._state))
        self._is_asked = True

    def _take(self, actors: Actors) -> Collected:
        """Take what is collected first; an asynchronous actor goes on at once."""
        made = actors.next()
        # The actor's next rollout is written where this one is.
        made = made._replace(rollout=Rollout(*(_on(part, None) for part in made.rollout)))
        if self.config.asynchronous:
            self._go_on([made])
            actors.ask(self._orders.order(made.order.actor, self._state))
        return made

    def _go_on(self, made: list[Collected]) -> None:
        self._state = self._orders.advance(made, self._state, self._weights(), self.updates)

    def _forget_rollouts(self) -> None:
        if self._is_asked and self._actors is not None:
            self._actors.drop()
        self._is_asked = False

    def _weights(self) -> Weights:
        return {name: part.detach().clone() for name, part in self.network.state_dict().items()}

    def _learn(self, rollout: Rollout) -> Metrics:
        transform = self._reward_transform
        rollout, figures = transform_rollout(transform, rollout, self.config.discount)
        with torch.no_grad():
            corrected, now, metrics = self._correct(rollout)
            self._value_scale = self._value_scale.with_targets(corrected.target)
            target = self._value_scale.to_critic(corrected.target)
            by_agent = corrected.advantage.transpose(0, 1)
            advantage = normalise(by_agent.flatten(1)).view(by_agent.shape).transpose(0, 1)
        rate = self.config.learning_rate.at(self.steps) * self._rate_scale
        weight = self.config.entropy_weight * self._entropy_scale
        metrics |= self._improver.improve(
            Corrected(rollout, advantage, target, now),
            agent=self._agent_weight,
            entropy=weight,
            rate=rate,
        )
        entropy = normalise_entropy(self.task.action, metrics["policy/entropy"])
        return (
            metrics
            | figures
            | {
                "policy/normalised_entropy": entropy,
                "policy/deviation": self.network.actor.penalty().detach(),
                "learning/rate": torch.tensor(rate),
            }
        )

    def _correct(self, rollout: Rollout) -> tuple[VTrace, Tensor, Metrics]:
        """Return what V-trace makes of rollouts, their log probabilities by now, and figures."""
        value_t, value_tp1 = (
            self._value_scale.to_reward(self._improver.value(row, private))
            for row, private in (
                (rollout.row, rollout.private),
                (rollout.final_row, rollout.final_private),
            )
        )
        now = self._improver.log_prob(rollout)
        log_ratio = now - rollout.log_prob
        corrected = vtrace(
            log_ratio,
            *(rollout.reward, value_t, value_tp1, rollout.terminated, rollout.truncated),
            discount=transition_discount(self.config.discount, rollout.duration, rollout.discount),
            decay=self.config.decay,
            ratio_clip=self.config.ratio_clip,
            trace_clip=self.config.trace_clip,
        )
        by_agent = (x.transpose(0, 1).flatten(1) for x in (value_t, corrected.target))
        clipped = log_ratio.exp() > self.config.ratio_clip
        return (
            corrected,
            now,
            {
                "rollout/reward": rollout.reward.mean((0, 2)),
                "rollout/trade_share": rollout.traded.float().mean((0, 2)),
                "policy/ratio": log_ratio.exp().mean((0, 2)),
                "policy/clip_share": clipped.float().mean((0, 2)),
                "value/mean": value_t.mean((0, 2)),
                "value/explained_variance": explained_variance(*by_agent),
            },
        )


def _experience(rollout: Rollout) -> Experience:
    told = (rollout.action, rollout.executed, rollout.traded, rollout.reward, rollout.terms)
    turnover = () if rollout.turnover is None else (rollout.turnover,)
    return Experience(*told, *turnover)


def _on(part: Tensor | None, device: torch.device | None) -> Tensor:
    """Return a part on a device, or copied; what is not there stays so."""
    if part is None:
        return part  # type: ignore[return-value]
    return part.clone() if device is None else part.to(device)
