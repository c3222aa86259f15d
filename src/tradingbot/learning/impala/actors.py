"""Actors at work: by turns in this process, or each in a process that is replaced when it dies."""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import Any, Protocol

import torch

from tradingbot.executors.executor import WorkItem
from tradingbot.executors.processes import ProcessExecutor, WorkerTimes
from tradingbot.learning.impala.actor import (
    ActorOrder,
    ActorSetting,
    Collected,
    RolloutActor,
    open_actors,
)
from tradingbot.learning.rollout import Rollout


class Actors(Protocol):
    """Takes orders and hands out what was collected."""

    @property
    def n_lost(self) -> int:
        """Processes that died or fell silent, and were replaced."""

    def ask(self, order: ActorOrder) -> None:
        """Take an order; an actor has one at a time."""

    def next(self) -> Collected:
        """Return what is collected first."""

    def drop(self) -> None:
        """Forget all orders that are not handed out."""


class LocalActors:
    """Actors that take turns in this process: an order is carried out when it is asked for."""

    n_lost = 0

    def __init__(self, settings: list[ActorSetting]) -> None:
        """Open one actor for each setting."""
        self._actors: list[RolloutActor] = [setting.open() for setting in settings]
        self._orders: deque[ActorOrder] = deque()

    def ask(self, order: ActorOrder) -> None:
        """Take an order."""
        self._orders.append(order)

    def next(self) -> Collected:
        """Carry out the oldest order."""
        order = self._orders.popleft()
        return self._actors[order.actor].collect(order)

    def drop(self) -> None:
        """Forget all orders."""
        self._orders.clear()


class ProcessActors:
    """One process per actor; a lost one is replaced, and its order carried out again, to the bit.

    An order is all that its rollout depends on, so it does not matter which process serves it.
    """

    def __init__(self, settings: list[ActorSetting], times: WorkerTimes | None = None) -> None:
        """Start as many processes as there are settings; any can serve any actor's order."""
        opening = partial(open_actors, tuple(settings))
        self._executor = ProcessExecutor(opening, len(settings), times=times)
        self._orders: dict[str, ActorOrder] = {}
        self._asked = 0
        weakref.finalize(self, self._executor.__exit__)

    @property
    def n_lost(self) -> int:
        """Processes that died or fell silent, and were replaced."""
        return self._executor.n_lost

    @property
    def process_ids(self) -> list[int]:
        """Of the actors that live now."""
        return [worker.process.pid or 0 for worker in self._executor._workers]

    def ask(self, order: ActorOrder) -> None:
        """Send an order to the first process that is free."""
        name = f"rollout {self._asked} of actor {order.actor}"
        self._asked += 1
        self._orders[name] = order
        self._executor.submit(WorkItem(name, _as_arrays(order)))

    def next(self) -> Collected:
        """Wait for the first that is done.

        Raises:
            UserError: If an order was lost with its process twice.
            RuntimeError: If carrying it out failed, with its traceback.
        """
        outcome = self._executor.wait(lambda *_: None)
        parts, state = outcome.result()
        tensors = [None if part is None else torch.from_numpy(part) for part in parts]
        order = self._orders.pop(outcome.item.name)
        return Collected(order, Rollout(*tensors), tuple(torch.from_numpy(each) for each in state))  # type: ignore[arg-type]

    def drop(self) -> None:
        """Wait for all orders under way, and forget what they give."""
        for _ in range(len(self._orders)):
            self._executor.wait(lambda *_: None)
        self._orders.clear()


def _as_arrays(order: ActorOrder) -> tuple[Any, ...]:
    weights = {name: tensor.numpy() for name, tensor in order.weights.items()}
    state = [part.numpy() for part in order.state]
    return order.actor, order.version, weights, state, order.seed
