"""One generation after another: vary a head's weights, play the members, follow the better ones."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.device import rate_holder, set_rate
from tradingbot.learning.es.config import EvolutionConfig
from tradingbot.learning.es.loss import distinct_share, pair_weights, rank_utility
from tradingbot.learning.es.members import Choose, See, member_outputs, play_members
from tradingbot.learning.es.perturbation import draw_seeds, mirrored_members, perturbation
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.task import Observation, Task, TaskState, repeat_task
from tradingbot.networks.heads import StackedHead, per_agent


class AgentScales(NamedTuple):
    """What is asked of single agents, (N,) each."""

    sigma: Tensor
    """Factor on the deviation of perturbations; shared weights take the mean."""
    weight: Tensor
    """Of what an agent says of the weights; 0: nothing."""


class Evolution(Resumable):
    """Improves the head of N agents by a population of its variations; see docs/algorithms/es.md.

    Weights that agents share are perturbed for all of them alike, and follow the mean of what all
    say; those of single agents follow what that agent earns.
    """

    _STATE = name_parts("_optimiser", members="seeds")

    def __init__(self, head: StackedHead, config: EvolutionConfig, *, seed: int) -> None:
        """Take a head that is on its device already."""
        self._head, self.config = head, config
        self.seeds = make_generator(seed, "es", "members")
        """What the seeds of perturbations are drawn from; on the CPU."""
        self._weights = {name: weight.detach() for name, weight in head.named_parameters()}
        self._optimiser = self._make_optimiser()

    def improve(
        self,
        task: Task,
        state: TaskState,
        see: See,
        choose: Choose,
        scales: AgentScales,
        rate: float,
    ) -> Metrics:
        """Play one generation from a state and follow it.

        Args:
            task: What is played; its environments can be repeated.
            state: Where all members begin.
            see: What heads read of an observation.
            choose: What outputs mean.
            scales: Of agents.
            rate: Learning rate.
        """
        seeds = draw_seeds(self.config.population // 2, self.seeds)
        fitness = self.fitness(task, state, see, choose, scales, seeds)
        norm = self.follow(fitness, seeds, scales, rate)
        elite = fitness.topk(max(round(self.config.elites * len(fitness)), 1), dim=0).values
        return {
            "population/fitness": fitness.mean(0).float(),
            "population/elite_fitness": elite.mean(0).float(),
            "population/fitness_deviation": fitness.std(0).float(),
            "population/distinct_share": distinct_share(fitness),
            "loss/gradient_norm": norm,
            "learning/rate": torch.tensor(rate),
        }

    @torch.no_grad()
    def fitness(
        self,
        task: Task,
        state: TaskState,
        see: See,
        choose: Choose,
        scales: AgentScales,
        seeds: list[int],
    ) -> Tensor:
        """Return the mean reward per step of two members for every seed, (P, N) float64."""
        at_once = (self.config.members_at_once or 2 * len(seeds)) // 2
        found = []
        for first in range(0, len(seeds), at_once):
            block = seeds[first : first + at_once]
            members = mirrored_members(self._weights, self._sigmas(scales.sigma), block)

            def act(seen: Observation, members: dict[str, Tensor] = members) -> Tensor:
                inputs = see(seen.row, seen.private)
                return choose(member_outputs(self._head, members, inputs), seen.allowed)

            wide = repeat_task(task, 2 * len(block))
            earned = play_members(wide, state, self.config.bars, act, 2 * len(block))
            found.append(earned.mean(-1) / self.config.bars)
        return torch.cat(found)

    @torch.no_grad()
    def follow(self, fitness: Tensor, seeds: list[int], scales: AgentScales, rate: float) -> Tensor:
        """Step towards the better members; return the norm of the gradient, ().

        Args:
            fitness: (P, N) of two members for every seed.
            seeds: P ÷ 2, from which perturbations are drawn again.
            scales: Of agents.
            rate: Learning rate.
        """
        utility = rank_utility(fitness, self.config.elites)
        own = (pair_weights(utility, self.config.sigma) * scales.weight).float()
        shared = own.mean(1)
        gradients = {name: torch.zeros_like(weight) for name, weight in self._weights.items()}
        for pair, seed in enumerate(seeds):
            for name, noise in perturbation(seed, self._weights):
                if name in self._head.own_names:
                    gradients[name].addcmul_(noise, per_agent(own[pair], noise))
                else:
                    gradients[name].addcmul_(noise, shared[pair])
        for name, parameter in self._head.named_parameters():
            parameter.grad = gradients[name]
        for group in self._optimiser.param_groups:
            set_rate(group, rate)
        self._optimiser.step()
        self._head.zero_grad(set_to_none=True)
        norm: Tensor = torch.linalg.vector_norm(
            torch.stack(torch._foreach_norm([*gradients.values()]))
        )
        return norm

    def member(self, seed: int, sigma: Tensor) -> dict[str, Tensor]:
        """Return the weights of one variation, (1, …) each; `sigma` (N,) as in `AgentScales`."""
        pair = mirrored_members(self._weights, self._sigmas(sigma), [seed])
        return {name: weights[:1] for name, weights in pair.items()}

    def _sigmas(self, factor: Tensor) -> dict[str, Tensor]:
        """Return deviations of all weights; agents may ask for more or less, (N,)."""
        own, shared = self.config.sigma * factor, self.config.sigma * factor.mean()
        return {
            name: per_agent(own, weight) if name in self._head.own_names else shared
            for name, weight in self._weights.items()
        }

    def _make_optimiser(self) -> torch.optim.Adam:
        named = dict(self._head.named_parameters())
        apart = [named.pop("deviations")] if "deviations" in named else []
        kinds = (([*named.values()], self.config.weight_decay), (apart, 0.0))
        device = next(iter(self._weights.values())).device
        groups = [
            {"params": weights, "weight_decay": decay, "lr": rate_holder(device)}
            for weights, decay in kinds
            if weights
        ]
        return torch.optim.Adam(groups, fused=True)
