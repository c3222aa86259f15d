"""Hierarchical SAC: follows options, remembers steps and options that ended, learns both levels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.device import set_rate
from tradingbot.learning.generators import make_generator
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.controller import Controller, OptionBatch
from tradingbot.learning.hierarchical_sac.course import OptionCourse
from tradingbot.learning.hierarchical_sac.ended_options import EndedOptions
from tradingbot.learning.hierarchical_sac.figures import CONTROLLER, learned_metrics
from tradingbot.learning.hierarchical_sac.kept_steps import N_KEPT, run_of, step_of
from tradingbot.learning.hierarchical_sac.option_hindsight import option_draws
from tradingbot.learning.hierarchical_sac.set_up import (
    low_level_config,
    make_optimiser,
    options_of,
)
from tradingbot.learning.hierarchical_sac.usage import OptionUsage
from tradingbot.learning.learner import Metrics, Update, experience_of
from tradingbot.learning.learner_state import Part, name_parts
from tradingbot.learning.replay import Replay
from tradingbot.learning.reward_transform import RewardTransform
from tradingbot.learning.sac import networks as sac
from tradingbot.learning.sac.memory import RewardScale
from tradingbot.learning.step_rewards import StepRewards
from tradingbot.learning.task import Observation, Task, TaskStep
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.networks.option_actor import (
    N_EXTRA_INPUTS,
    ActionRange,
    choose_options,
    corrected,
    option_inputs,
)
from tradingbot.networks.options import OptionMemory, OptionRun
from tradingbot.networks.view import View


class HierarchicalSAC(TaskLearner):
    """A controller over options and a low level that corrects them, for all agents at once.

    `act` follows options from row to row by a memory of its own, which is no part of the state:
    asked again at the same rows it answers the same. Entropy scales multiply both targets.
    """

    name = "hierarchical_sac"
    _STATE = name_parts(
        *("_controller", "_low", "view", "_optimiser", "_draws", "_entropy_scale", "_rate_scale"),
        *("steps", "updates", "_steps_kept", "_ended", "_reward_scale"),
        policy_draws="_exploration",
        task="_state",
        course="_course.parts",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: HierarchicalSACConfig,
        *,
        seed: int,
        reward_transform: RewardTransform | None = None,
    ) -> None:
        """Draw weights and open the task's environments.

        Args:
            task: With options, and one number as action.
            view: How rows of the task's table are seen; it does not learn here.
            config: Settings.
            seed: Root of all random streams.
            reward_transform: Changes rewards before both levels learn from them; none by default.

        Raises:
            ConfigError: If the task has no options, the view would learn, or rewards are changed
                where goals are relabelled.
        """
        self._options = options_of(task)
        super().__init__(task, view)
        if self._view_learns:
            rule = "an encoder must not learn with hierarchical SAC"
            raise ConfigError(rule, was="trainable", remedy="Set encoder.trainable to false")
        self.config, n_seen = config, view.width + task.n_private
        n_options, sizes = len(self._options.names), (self._n_agents, task.n_envs)
        weights = make_generator(seed, self.name, "weights")
        self._controller = Controller(self._n_agents, n_seen, n_options, config, weights).to(
            self.device
        )
        low = low_level_config(config)
        n_low = n_seen + n_options + N_EXTRA_INPUTS
        self._low = sac.SoftNetworks(self._n_agents, n_low, low, weights).to(self.device)
        self._acting = {"controller": self._controller.actor, "low_level": self._low.actor}
        self._optimiser = make_optimiser(self._controller, self._low, config.weight_decay)
        kept = {"capacity": config.buffer_size, "device": self.device}
        self._draws_of = option_draws(task, config, reward_transform)
        self._rewards = StepRewards(reward_transform, config.discount)
        goals = self._draws_of.kept
        self._steps_kept = Replay(*sizes, task.n_private + N_KEPT, extras=goals, **kept)  # type: ignore[arg-type]
        longest = self._options.timeout
        self._ended = EndedOptions(*sizes, task.n_private, longest=longest, goals=goals, **kept)  # type: ignore[arg-type]
        self._reward_scale = RewardScale(self._n_agents, self.device)
        self._exploration = make_generator(seed, self.name, "policy", device=self.device)
        self._draws = make_generator(seed, self.name, "replay", device=self.device)
        self._course = OptionCourse(self._observation)
        self._memory, self._sampling = OptionMemory(), OptionMemory()
        self._range = ActionRange(task.action.low, task.action.high)

    def update(self) -> Update:
        """Make `steps_per_update` steps of all environments, each with its gradient steps."""
        made: list[tuple[Tensor, TaskStep]] = []
        usage = OptionUsage(self._options.names, self._n_agents, self.device)
        sums = torch.zeros(len(sac.MEASURED), self._n_agents, device=self.device)
        over = torch.zeros(len(CONTROLLER), self._n_agents, device=self.device)
        n_learned = 0
        self._set_rates()
        for _ in range(self.config.steps_per_update):
            made.append(self._advance(usage))
            if self.steps < self.config.warm_up:
                continue
            for _ in range(self.config.gradient_steps):
                measured = self._learn()
                sums, over = sums + measured[0], over + measured[1]
                n_learned += 1
        self.updates += 1
        experience = experience_of(made)
        metrics: Metrics = {"rollout/reward": experience.reward.mean((0, 2))}
        metrics["rollout/reward_deviation"] = self._reward_scale.deviation()
        metrics |= usage.metrics() | self._rewards.learn() | self._draws_of.take_figures()
        if n_learned:
            temperatures = (self._low.log_temperature, self._controller.log_temperature)
            metrics |= learned_metrics(sums / n_learned, over / n_learned, *temperatures)
        return Update(metrics, experience)

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return deterministic actions (N, B); options go on where rows follow the last ones."""
        return self._follow(observation, self._memory, None)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions (N, B) with options and corrections drawn."""
        return self._follow(observation, self._sampling, self._exploration)

    def _parts(self) -> dict[str, Part]:
        return super()._parts() | self._rewards.parts()

    def _follow(
        self, seen: Observation, memory: OptionMemory, generator: torch.Generator | None
    ) -> Tensor:
        before, is_new = memory.recall(self._options, seen.row, seen.private)
        run = self._choose(seen, before, is_new, generator)
        memory.keep(seen.row, before, is_new, run)
        return self._correct(seen, run, generator)[0]

    def _choose(
        self,
        seen: Observation,
        run: OptionRun,
        is_new: Tensor,
        generator: torch.Generator | None,
    ) -> OptionRun:
        preference = self._controller.actor(self._see(seen.row, seen.private)).float()
        if generator is not None and self.steps < self.config.warm_up:
            preference = 0.0 * preference  # all that are available alike
        given = (seen.row, seen.private, run, is_new)
        return choose_options(self._options, preference, *given, generator)

    def _correct(
        self, seen: Observation, run: OptionRun, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Return actions (N, B), and the corrections in [−1, 1] in them."""
        proposal = self._options.propose(seen.row, seen.private, run)
        x = torch.cat(
            [self._see(seen.row, seen.private), option_inputs(self._options, run, proposal)], -1
        )
        policy = self._low.policy(x)
        if generator is None:
            number = policy.mode()
        elif self.steps < self.config.warm_up:
            drawn = torch.rand(proposal.shape, generator=generator, device=self.device)
            number = 2.0 * drawn - 1.0
        else:
            number = policy.squash(policy.sample(generator))
        return corrected(proposal, number, self.config.reach, self._range), number

    @torch.no_grad()
    def _advance(self, usage: OptionUsage) -> tuple[Tensor, TaskStep]:
        """Choose where options ended, make one step, remember it and the options that end by it."""
        seen, course, options = self._observation, self._course, self._options
        run = self._choose(seen, course.run, course.is_new, self._exploration)
        course.begin(seen, run)
        action, number = self._correct(seen, run, self._exploration)
        made = self.task.step(self._state, action)
        # What both levels learn from; what the task paid stays what is reported.
        paid = made._replace(reward=self._rewards.paid(seen, action, made))
        done = made.terminated | made.truncated
        ended = course.advance(options, paid, self.config.discount, done)
        usage.count(options, seen, made, course.run, ended)
        self._reward_scale.insert(paid.reward)
        goals = self._draws_of.kept
        self._steps_kept.insert(step_of(seen, run, number, paid, ended, goals))
        self._ended.insert_where(course.transitions(paid, goals), ended)
        course.finish(ended)
        self._state, self._observation = made.state, made.observation
        self.steps += self.task.n_envs
        return action, made

    def _learn(self) -> tuple[Tensor, Tensor]:
        """Make one gradient step of both levels; return what is measured, (K, N) each."""
        config, own = self.config, self._agent_weight
        share = (config.controller_entropy * self._entropy_scale).clamp(max=0.99)
        over = self._controller.losses(self._option_batch(), share)
        target = (config.target_normalised_entropy * self._entropy_scale).clamp(
            max=sac.HIGHEST_NORMALISED_ENTROPY
        )
        aim = sac.Aim(torch.log(2.0 * target), torch.ones_like(target))
        low = self._low.losses(self._step_batch(), aim)
        losses = [over.critic, over.actor, over.temperature]
        penalty = self._controller.penalty()
        if config.reach:
            losses += [low.critic, low.actor, low.temperature]
            penalty = penalty + self._low.actor.penalty() + self._low.critic.penalty()
        losses.append(config.deviation_penalty * penalty)
        self._optimiser.zero_grad(set_to_none=True)
        learned = [loss for loss in losses if loss.requires_grad]
        torch.autograd.backward(learned, [own] * len(learned))
        weights = sac.weights_of(self._optimiser, "controller", "low")
        norm = nn.utils.get_total_norm([x.grad for x in weights if x.grad is not None])
        if config.gradient_clip:
            nn.utils.clip_grads_with_norm_(weights, config.gradient_clip, norm)
        self._optimiser.step()
        self._controller.follow(config.target_rate)
        self._low.follow(config.target_rate)
        told = torch.stack([over.critic, over.actor, over.entropy, over.value]).detach()
        return sac.measure(low, norm), told

    @torch.no_grad()
    def _option_batch(self) -> OptionBatch:
        drawn = self._draws_of.options(self._ended, self.config.batch_size, self._draws)
        assert drawn.discount is not None
        return OptionBatch(
            self._see(drawn.row, drawn.private),
            self._options.available(drawn.row, drawn.private),
            drawn.action.long(),
            self._scaled(drawn.reward),
            drawn.continues,
            drawn.discount,
            self._see(drawn.final_row, drawn.final_private),
            self._options.available(drawn.final_row, drawn.final_private),
            self._ended.has_any.to(drawn.reward.dtype),
        )

    @torch.no_grad()
    def _step_batch(self) -> sac.ReplayBatch:
        """Draw steps; where an option ended, the one that follows is the controller's of today."""
        drawn = self._draws_of.steps(self._steps_kept, self.config.batch_size, self._draws)
        n = self.task.n_private
        private, final = drawn.private[..., :n], drawn.final_private[..., :n]
        nothing = torch.zeros_like(drawn.reward)
        run, ended = run_of(drawn, n)
        seen, after = (
            Observation(row, numbers, nothing)
            for row, numbers in ((drawn.row, private), (drawn.final_row, final))
        )
        following = self._choose(after, run.later(), ended, self._draws)
        noise = torch.randn(
            (2, *drawn.action.shape), generator=self._exploration, device=self.device
        )
        return sac.ReplayBatch(
            self._low_inputs(seen, run),
            drawn.action,
            self._scaled(drawn.reward),
            drawn.continues,
            self._low_inputs(after, following),
            noise,
        )

    def _low_inputs(self, seen: Observation, run: OptionRun) -> Tensor:
        proposal = self._options.propose(seen.row, seen.private, run)
        inputs = option_inputs(self._options, run, proposal)
        return torch.cat([self._see(seen.row, seen.private), inputs], dim=-1)

    def _scaled(self, reward: Tensor) -> Tensor:
        if not self.config.scale_rewards:
            return reward
        return reward / self._reward_scale.deviation()[:, None]

    def _set_rates(self) -> None:
        rates = {
            "controller": self.config.controller_rate,
            "low": self.config.learning_rate.at(self.steps),
            "temperature": self.config.temperature_rate,
        }
        for group in self._optimiser.param_groups:
            set_rate(group, rates[group["name"]] * self._rate_scale)
