"""What an actor does: plays some environments with the weights it is given. A pure function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tradingbot.executors.executor import Progress, Work
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.rollout import Choice, Rollout, allocate_rollout, collect_rollout
from tradingbot.learning.task import Observation, Task, TaskState, TransitionExtras, extras_of
from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.view import View


class ActorOrder(NamedTuple):
    """What an actor is asked for; everything its rollout depends on."""

    actor: int
    version: int
    """Updates that the weights have behind them."""
    weights: dict[str, Tensor]
    state: TaskState
    """Where its environments stand."""
    seed: int
    """Of what it draws."""


class Collected(NamedTuple):
    """What an actor made of an order."""

    order: ActorOrder
    rollout: Rollout
    """(S, N, b, …)"""
    state: TaskState
    """Where its environments stand now."""


@dataclass(frozen=True, eq=False)
class ActorSetting:
    """What an actor is opened with; any process can be told."""

    task: Task
    """Its environments, b of each agent."""
    view: View
    config: IMPALAConfig
    needs_terms: bool = False
    """Whether rollouts carry the reward terms of every step."""

    def open(self) -> RolloutActor:
        """Make the actor."""
        return RolloutActor(self)


class RolloutActor:
    """Plays rollouts; remembers nothing between them."""

    def __init__(self, setting: ActorSetting) -> None:
        """Reserve memory; weights come with every order."""
        self._task, self._view = setting.task, setting.view
        task, n_inputs = setting.task, setting.view.width + setting.task.n_private
        sizes = (len(task.agent_names), n_inputs, task.action)
        network = ActorCritic(*sizes, setting.config, torch.Generator())
        self._network = network.to(task.table.device).requires_grad_(False)
        carried = extras_of(task)
        kept = TransitionExtras(
            duration=carried.duration,
            discount=carried.discount,
            turnover=carried.turnover,
            terms=setting.needs_terms,
        )
        self._rollout = allocate_rollout(task, setting.config.rollout_steps, kept)

    def collect(self, order: ActorOrder) -> Collected:
        """Play one rollout; its tensors are written over by the next."""
        self._network.load_state_dict(order.weights)
        draws = torch.Generator(self._task.table.device).manual_seed(order.seed)

        def choose(seen: Observation) -> Choice:
            inputs = torch.cat([self._view.look(seen.row), seen.private], dim=-1)
            return drawn_choice(self._network, inputs, seen.allowed, draws)

        seen = self._task.observe(order.state)
        state, _ = collect_rollout(self._task, order.state, seen, choose, self._rollout)
        return Collected(order, self._rollout, state)


def drawn_choice(
    network: ActorCritic, inputs: Tensor, allowed: Tensor, draws: torch.Generator
) -> Choice:
    """Draw actions of a network for inputs (N, B, I)."""
    policy = network.policy(inputs, allowed)
    drawn = policy.sample(draws)
    action = drawn if isinstance(policy, MaskedCategorical) else policy.squash(drawn)
    return Choice(action, drawn, policy.log_prob(drawn))


def open_actors(settings: tuple[ActorSetting, ...]) -> Work:
    """Return what serves orders to any of some actors in a process: arrays in, arrays out."""
    torch.set_num_threads(1)
    opened: dict[int, RolloutActor] = {}

    def collect(payload: Any, _: Progress) -> Any:
        number, version, weights, state, seed = payload
        if number not in opened:
            opened[number] = settings[number].open()
        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        places = tuple(torch.from_numpy(array) for array in state)
        made = opened[number].collect(ActorOrder(number, version, tensors, places, seed))
        parts = [None if part is None else part.numpy() for part in made.rollout]
        return parts, [part.numpy() for part in made.state]

    return collect
