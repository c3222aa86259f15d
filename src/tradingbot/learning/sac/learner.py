"""SAC: collects, remembers and learns, for all agents at once and without leaving the device."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Experience, Metrics, Update, experience_of
from tradingbot.learning.learner_state import Part, name_parts
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.replay import Transitions
from tradingbot.learning.reward_transform import RewardTransform
from tradingbot.learning.sac import networks as sac
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.memory import TransitionMemory
from tradingbot.learning.task import Observation, Task, TaskStep
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.networks.distributions import SquashedGaussian, round_to_levels
from tradingbot.networks.view import View


class SAC(TaskLearner):
    """Soft actor-critic with two critics and a temperature for each agent.

    Entropy scales multiply target entropies, up to `HIGHEST_NORMALISED_ENTROPY`; where temperatures
    are not tuned, those instead. A factor on a tuned one would do nothing for long: tuning would
    undo it. The state is mostly the replay (`replay_bytes`).
    """

    name = "sac"
    _STATE = name_parts(
        *("_networks", "view", "_optimiser", "_replay_draws", "_entropy_scale", "_rate_scale"),
        *("steps", "updates"),
        policy_draws="_exploration",
        task="_state",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: SACConfig,
        *,
        seed: int,
        captured: bool | None = None,
        reward_transform: RewardTransform | None = None,
        auxiliary: AuxiliaryLoss | None = None,
    ) -> None:
        """Draw weights and open the task's environments.

        Args:
            task: With numeric actions, one number or a vector in a box; steps may have durations or
                discounts of their own.
            view: How rows of the task's table are seen; learns with the critics if it can.
            config: Settings.
            seed: Root of all random streams.
            captured: Replay gradient steps as a CUDA graph; by default on CUDA, unless the view
                learns too.
            reward_transform: Changes rewards before they are remembered; none by default.
            auxiliary: A loss beside its own, of the encoder that the view learns; none by default.

        Raises:
            ConfigError: If the actions of the task are codes, or weights on a simplex.
        """
        if task.action.kind != "box":
            rule = "actions must be numbers for SAC"
            remedy = "Use PPO, or the task with continuous or target actions"
            raise ConfigError(rule, was=task.action.kind, remedy=remedy)
        super().__init__(task, view, auxiliary)
        self.config, n_inputs = config, view.width + task.n_private
        weights, n_components = make_generator(seed, "sac", "weights"), task.action.n_components
        self._networks = sac.SoftNetworks(
            self._n_agents, n_inputs, config, weights, n_components=n_components
        ).to(self.device)
        self._acting = {"actor": self._networks.actor}
        heads = () if auxiliary is None else auxiliary.parameters()
        self._optimiser = sac.make_optimiser(self._networks, view, config.weight_decay, heads)
        self._memory = TransitionMemory(task, config, reward_transform)
        self._exploration = make_generator(seed, "sac", "policy", device=self.device)
        self._replay_draws = make_generator(seed, "sac", "replay", device=self.device)
        self._aim = self._make_aim()
        draws = (self._exploration, self._replay_draws)
        self._captured = self._capture(captured, self._learn, draws)

    def update(self) -> Update:
        """Make `steps_per_update` steps of all environments, each with its gradient steps."""
        made = []
        sums = torch.zeros(len(sac.MEASURED), self._n_agents, device=self.device)
        n_learned = 0
        self._prepare()
        for _ in range(self.config.steps_per_update):
            warm = self.steps < self.config.warm_up
            action = self._random_action() if warm else self.sample(self._observation)
            made.append((action, self._advance(action)))
            if self.steps < self.config.warm_up:
                continue
            for _ in range(self.config.gradient_steps):
                sums += self._learn() if self._captured is None else self._captured()
                n_learned += 1
        self.view.refresh()
        self.updates += 1
        experience = experience_of(made)
        metrics = self._metrics(sums, n_learned, experience) | self._memory.take_figures()
        metrics |= self._memory.learn_transform()
        return Update(metrics, experience)

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return the actions of the mean, (N, B) or (N, B, K), rounded to `act_levels` if any."""
        number = self._policy(observation).mode()
        return self._in_range(round_to_levels(number, -1.0, 1.0, self.config.act_levels))

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions, (N, B) or (N, B, K), drawn from the policy with its own generator."""
        policy = self._policy(observation)
        return self._in_range(policy.squash(policy.sample(self._exploration)))

    @property
    def replay_bytes(self) -> int:
        """Memory of the replay, which is also most of what saving costs."""
        return self._memory.replay.state_bytes

    def _policy(self, observation: Observation) -> SquashedGaussian:
        return self._networks.policy(self._see(observation.row, observation.private))

    def _in_range(self, number: Tensor) -> Tensor:
        """Return actions in [low, high] of numbers in [−1, 1]."""
        low, high = self.task.action.low, self.task.action.high
        return low + 0.5 * (high - low) * (number + 1.0)

    def _random_action(self) -> Tensor:
        shape = (*self._observation.row.shape, *self.task.action.shape)
        share = torch.rand(shape, generator=self._exploration, device=self.device)
        return self._in_range(2.0 * share - 1.0)

    @torch.no_grad()
    def _advance(self, action: Tensor) -> TaskStep:
        made = self.task.step(self._state, action)
        self._memory.insert(self._observation, action, made)
        self._state, self._observation = made.state, made.observation
        self.steps += self.task.n_envs
        return made

    def _learn(self) -> Tensor:
        """Make one gradient step and return what `MEASURED` names, (K, N)."""
        sampled = self._memory.sample(self.config.batch_size, self._replay_draws)
        losses = self._networks.losses(self._batch(sampled), self._aim)
        norm = self._step(losses)
        self._networks.follow(self.config.target_rate)
        return sac.measure(losses, norm)

    def _prepare(self) -> None:
        """Set rates and what entropies aim at; they are the same for a whole update."""
        rate = self.config.learning_rate.at(self.steps)
        rates = {
            "view": self.config.encoder_rate * rate,
            "temperature": self.config.temperature_rate,
        }
        scaled = {name: each * self._rate_scale for name, each in rates.items()}
        sac.set_rates(self._optimiser, scaled, rate * self._rate_scale)
        for kept, new in zip(self._aim, self._make_aim(), strict=True):
            kept.copy_(new)

    def _make_aim(self) -> sac.Aim:
        """Return what entropies aim at."""
        target = torch.full_like(self._entropy_scale, self.config.target_normalised_entropy)
        temperature_scale = self._entropy_scale
        if self.config.tune_temperature:
            target = (target * self._entropy_scale).clamp(max=sac.HIGHEST_NORMALISED_ENTROPY)
            temperature_scale = torch.ones_like(target)
        n_numbers = max(self.task.action.n_components, 1)
        return sac.Aim(n_numbers * torch.log(2.0 * target), temperature_scale.clone())

    def _batch(self, sampled: Transitions) -> sac.ReplayBatch:
        embedding = (self.view if self._view_learns else self.view.look)(sampled.row)
        low, high = self.task.action.low, self.task.action.high
        shape = (2, *sampled.action.shape)
        noise = torch.randn(shape, generator=self._exploration, device=self.device)
        return sac.ReplayBatch(
            torch.cat([embedding, sampled.private], dim=-1),
            (sampled.action - low) * (2.0 / (high - low)) - 1.0,
            sampled.reward,
            sampled.continues,
            self._see(sampled.final_row, sampled.final_private),
            noise,
            sampled.discount,
        )

    def _step(self, losses: sac.Losses) -> Tensor:
        """Apply all gradients at once, each loss's in its own weights; return their norm, ()."""
        self._optimiser.zero_grad(set_to_none=True)
        self._differentiate(losses)
        norms = []
        for names in (("critic", "view", "auxiliary"), ("actor",)):
            weights = sac.weights_of(self._optimiser, *names)
            norms.append(nn.utils.get_total_norm([x.grad for x in weights if x.grad is not None]))
            if self.config.gradient_clip:
                nn.utils.clip_grads_with_norm_(weights, self.config.gradient_clip, norms[-1])
        self._optimiser.step()
        return torch.stack(norms).square().sum().sqrt()

    def _differentiate(self, losses: sac.Losses) -> None:
        """Write the gradients of all losses, summed over agents; each is in its own weights."""
        own = self._agent_weight
        weights = dict.fromkeys((losses.critic, losses.actor, losses.temperature), own)
        for part in (self._networks.critic, self._networks.actor):
            weights[part.penalty()] = self.config.deviation_penalty * own
        if self._auxiliary is not None:  # beside a sum over agents; of none where none learns
            weights[self._auxiliary.draw()] = self._n_agents * own.amax()
        learned = [loss for loss in weights if loss.requires_grad]
        torch.autograd.backward(learned, [weights[loss] for loss in learned])

    def _metrics(self, sums: Tensor, n_learned: int, experience: Experience) -> Metrics:
        metrics: Metrics = {"rollout/reward": experience.reward.mean((0, 2))}
        metrics["rollout/reward_deviation"] = self._memory.reward_scale.deviation()
        metrics["policy/temperature"] = self._networks.log_temperature.detach().exp()
        if not n_learned:
            return metrics
        metrics |= dict(zip(sac.MEASURED, sums / n_learned, strict=True))
        if self._auxiliary is not None:
            metrics |= self._auxiliary.take_metrics()
        n_numbers = max(self.task.action.n_components, 1)
        normalised = 0.5 * (metrics["policy/entropy"] / n_numbers).exp()
        metrics["policy/normalised_entropy"] = normalised
        metrics["policy/deviation"] = self._networks.actor.penalty().detach()
        metrics["value/deviation"] = self._networks.critic.penalty().detach()
        return metrics

    def _parts(self) -> dict[str, Part]:
        return super()._parts() | self._memory.parts()
