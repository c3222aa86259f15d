"""Evolution strategies: no gradient of anything, only what variations of the weights earn."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.action_policy import n_numbers, squashed_layout
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.es.evolution import AgentScales, Evolution
from tradingbot.learning.es.members import member_outputs, play_members
from tradingbot.learning.es.perturbation import Weights, draw_seeds
from tradingbot.learning.generators import begin_another, make_generator
from tradingbot.learning.guards.measures import BOX_BINS
from tradingbot.learning.learner import Experience, Update, experience_of
from tradingbot.learning.learner_state import name_parts
from tradingbot.learning.playing import action_histogram, histogram_entropy
from tradingbot.learning.task import Observation, Task, repeat_task
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View


class ES(TaskLearner):
    """Moves weights towards the variations that earn most; see docs/algorithms/es.md.

    Entropy scales multiply each agent's `sigma`. What `sample` draws is a variation of the weights.
    """

    name = "es"
    _STATE = name_parts(
        *("_actor", "view", "_evolution", "_entropy_scale", "_rate_scale", "steps", "updates"),
        noise="_exploration",
        task="_state",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: ESConfig,
        *,
        seed: int,
        evolved: tuple[StackedHead, ActorLayout] | None = None,
    ) -> None:
        """Draw weights and open the task's environments.

        Args:
            task: With actions of any kind; its environments can be repeated.
            view: How rows of the task's table are seen; it does not learn.
            config: Settings.
            seed: Root of all random streams.
            evolved: Another learner's actor, on its device, and how its outputs are read; by
                default one of its own is drawn, as `config` says.

        Raises:
            ConfigError: If the task's environments cannot be repeated.
        """
        repeat_task(task, 2)  # refused here, not in the first update
        super().__init__(task, view)
        self.config = config
        self._actor, self._layout = evolved or self._draw_actor(seed)
        self._acting = {"actor": self._actor}
        self._evolution = Evolution(self._actor, config, seed=seed)
        self._exploration = make_generator(seed, "es", "noise")

    def update(self) -> Update:
        """Play the mean and one generation from the same state; go on from where the mean came."""
        config, state = self.config, self._state
        experience = self._play()
        rate = config.learning_rate.at(self.steps) * self._rate_scale
        scales = AgentScales(self._entropy_scale, self._agent_weight)
        metrics = self._evolution.improve(self.task, state, self._see, self._choose, scales, rate)
        earned = experience.reward.mean((0, 2))
        self.steps += config.generation_steps * self.task.n_envs
        self.updates += 1
        metrics |= {
            "loss/policy": -earned,
            "rollout/reward": earned,
            "policy/deviation": self._actor.penalty().detach(),
            "policy/normalised_entropy": self._entropy(experience.selected),
        }
        return Update(metrics, experience)

    def explore_anew(self, number: int) -> None:
        """Draw perturbations, and samples, from other streams."""
        super().explore_anew(number)
        begin_another(self._evolution.seeds, number)

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return actions of the mean, (N, B) or (N, B, K), rounded to `act_levels` if any."""
        seen = self._see(observation.row, observation.private)
        return self._choose(self._actor(seen), observation.allowed)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions (N, B) or (N, B, K) of a variation that is drawn for each call."""
        (seed,) = draw_seeds(1, self._exploration)
        member = self._evolution.member(seed, self._entropy_scale)
        seen = self._see(observation.row, observation.private)
        return self._choose(member_outputs(self._actor, member, seen), observation.allowed)

    @torch.no_grad()
    def earnings_beside(self, other: Weights) -> Tensor:
        """Play the next bars, which no generation has seen, with other weights and with its own.

        Args:
            other: Parameters of the actor by name.

        Returns:
            (2, N, B) rewards of each account over `bars` steps, of the others first.
        """
        own = dict(self._actor.named_parameters())
        both = {name: torch.stack([other[name], weight]) for name, weight in own.items()}

        def act(seen: Observation) -> Tensor:
            inputs = self._see(seen.row, seen.private)
            return self._choose(member_outputs(self._actor, both, inputs), seen.allowed)

        return play_members(repeat_task(self.task, 2), self._state, self.config.bars, act, 2)

    def _draw_actor(self, seed: int) -> tuple[StackedHead, ActorLayout]:
        config, task = self.config, self.task
        layout = squashed_layout(config, task.action, (), prefix="actor.", kind="sigmoid")
        sizes = (self._n_agents, self.view.width + task.n_private, layout.n_outputs)
        weights = make_generator(seed, "es", "weights")
        return StackedHead(*sizes, config.actor, weights).to(self.device), layout

    def _choose(self, output: Tensor, allowed: Tensor) -> Tensor:
        """Return actions of outputs (N, B, O), as a stored actor's outputs are read."""
        squash = self._layout.squash
        if squash is None:
            return MaskedCategorical.of(output, allowed).mode()
        means = output[..., : n_numbers(self.task.action)]  # what follows is for samples alone
        return squash(means if self.task.action.n_components else means.squeeze(-1))

    def _entropy(self, selected: Tensor) -> Tensor:
        """Return the entropy (N,) of what the mean did: it draws no lots that could have one.

        Of codes, or of numbers in as many bins as they are rounded to, at most those of the flight
        recorder: 1 where all are as frequent.
        """
        bins = min(self.config.act_levels or BOX_BINS, BOX_BINS)
        return histogram_entropy(action_histogram(selected, self.task.action, bins)).float()

    @torch.no_grad()
    def _play(self) -> Experience:
        """Play the mean from where it stands."""
        made = []
        for _ in range(self.config.bars):
            action = self.act(self._observation)
            step = self.task.step(self._state, action)
            made.append((action, step))
            self._state, self._observation = step.state, step.observation
        return experience_of(made)
