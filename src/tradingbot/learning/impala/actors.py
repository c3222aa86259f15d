"""Actors at work: by turns in this process, or each by a worker that is replaced when it dies."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol

import torch

from tradingbot.executors.executor import WorkItem
from tradingbot.executors.workers import StartWorkers, news_of_workers, start_workers
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
        """Workers that died or fell silent, and were replaced."""

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


class RemoteActors:
    """One worker per actor; a lost one is replaced, and its order carried out again, to the bit.

    An order is all that its rollout depends on, so it does not matter which worker serves it, or on
    which machine.
    """

    def __init__(self, settings: list[ActorSetting], start: StartWorkers = start_workers) -> None:
        """Start as many workers as there are settings; any can serve any actor's order."""
        self._workers = ExitStack()
        opening = partial(open_actors, tuple(settings))
        self._executor = self._workers.enter_context(start(opening, len(settings)))
        self._orders: dict[str, ActorOrder] = {}
        self._asked, self._tell = 0, news_of_workers()
        weakref.finalize(self, self._workers.close)

    @property
    def n_lost(self) -> int:
        """Workers that died or fell silent, and were replaced."""
        return self._executor.n_lost

    def ask(self, order: ActorOrder) -> None:
        """Send an order to the first worker that is free."""
        name = f"rollout {self._asked} of actor {order.actor}"
        self._asked += 1
        self._orders[name] = order
        self._executor.submit(WorkItem(name, _as_arrays(order)))

    def next(self) -> Collected:
        """Wait for the first that is done.

        Raises:
            UserError: If an order was lost with its worker too often.
            RuntimeError: If carrying it out failed, with its traceback.
        """
        outcome = self._executor.wait(self._tell)
        parts, state = outcome.result()
        tensors = [None if part is None else torch.from_numpy(part) for part in parts]
        order = self._orders.pop(outcome.item.name)
        return Collected(order, Rollout(*tensors), tuple(torch.from_numpy(each) for each in state))  # type: ignore[arg-type]

    def close(self) -> None:
        """End the workers; else they end with this object."""
        self._workers.close()

    def drop(self) -> None:
        """Wait for all orders under way, and forget what they give."""
        for _ in range(len(self._orders)):
            self._executor.wait(self._tell)
        self._orders.clear()


def _as_arrays(order: ActorOrder) -> tuple[Any, ...]:
    weights = {name: tensor.numpy() for name, tensor in order.weights.items()}
    state = [part.numpy() for part in order.state]
    return order.actor, order.version, weights, state, order.seed
