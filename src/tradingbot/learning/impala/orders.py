"""What actors are asked for next: environments divided, rollouts put together again."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.impala.actor import ActorOrder, Collected
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.rollout import Rollout
from tradingbot.learning.task import Task, TaskState, join_lanes, keep_lanes

Weights = dict[str, Tensor]
_SEEDS = 2**62


class Orders(Resumable):
    """The next order of every actor: all that its rollout depends on, and all that resuming needs.

    Rollouts under way are no part of the state: they are made again, to the same bits.
    """

    _STATE = name_parts("_seeds", "_versions", "_weights", "draws")

    def __init__(self, task: Task, config: IMPALAConfig, weights: Weights, *, seed: int) -> None:
        """Divide the environments; see `envs_of_actor`."""
        self.share = envs_of_actor(task, config)
        self._n_agents, self._count = len(task.agent_names), config.actors
        self.draws = make_generator(seed, "impala", "orders")
        """Of seeds."""
        self._weights = weights
        self._versions = torch.zeros(self._count, dtype=torch.int64)
        self._seeds = self._draw()

    def order(self, actor: int, state: TaskState) -> ActorOrder:
        """Return what an actor is asked for, where all environments stand in `state`."""
        first = actor * self.share
        own = tuple(keep_lanes(part, self._n_agents, first, self.share) for part in state)
        version, seed = int(self._versions[actor]), int(self._seeds[actor])
        return ActorOrder(actor, version, self._weights, own, seed)

    def advance(
        self, made: list[Collected], state: TaskState, weights: Weights, version: int
    ) -> TaskState:
        """Let actors go on from where they came, with weights of a version; return all states."""
        there = {each.order.actor: each.state for each in made}
        states = [there.get(actor, self.order(actor, state).state) for actor in range(self._count)]
        self._weights, drawn = weights, self._draw()
        for actor in there:
            self._seeds[actor], self._versions[actor] = drawn[actor], version
        parts = zip(*states, strict=True)
        return tuple(join_lanes(list(part), self._n_agents) for part in parts)

    def draw_anew(self) -> None:
        """Draw other seeds for all orders."""
        self._seeds = self._draw()

    def _draw(self) -> Tensor:
        return torch.randint(_SEEDS, (self._count,), generator=self.draws)


def join_rollouts(rollouts: list[Rollout]) -> Rollout:
    """Put the environments of actors beside each other, (S, N, B, …)."""
    joined: dict[str, Tensor | None] = {}
    for name, *parts in zip(Rollout._fields, *rollouts, strict=True):
        there = [part for part in parts if part is not None]
        # Terms, (K, N, B), and those of steps, (S, K, N, B), have their environments elsewhere.
        joined[name] = torch.cat(there, 3 if name == "step_terms" else 2) if there else None
    return Rollout(**joined)  # type: ignore[arg-type]


def envs_of_actor(task: Task, config: IMPALAConfig) -> int:
    """Return how many environments of each agent an actor has.

    Raises:
        ConfigError: If they cannot be divided, or are where processes cannot be.
    """
    if task.n_envs % config.actors:
        rule = "learner.impala.actors must divide budget.n_envs"
        was = f"{config.actors} actors for {task.n_envs} environments"
        raise ConfigError(rule, was=was, remedy=f"Set e.g. learner.impala.actors={task.n_envs}")
    if config.in_processes and task.table.device.type != "cpu":
        rule = "learner.impala.in_processes must be false on a GPU: processes play on a CPU"
        remedy = "Set learner.impala.in_processes=false, or device=cpu"
        raise ConfigError(rule, was="true", where=str(task.table.device), remedy=remedy)
    return task.n_envs // config.actors
