"""What learners hear of their workers is told to whoever chose them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    OpenWork,
    Outcome,
    Progress,
)
from tradingbot.executors.workers import news_of_workers, workers_by
from tradingbot.learning.impala.actors import RemoteActors


class Waiting(InlineExecutor):
    """Its worker waits before it works, and tells how far it is."""

    def wait(self, progress: Progress) -> Outcome:
        progress(0, 0, "waiting for a free CPU")
        progress(1, 2, "bars")
        return super().wait(progress)


@contextmanager
def waiting(open_work: OpenWork, count: int) -> Iterator[Executor]:
    yield Waiting(lambda *_: None)


def test_actors_tell_news_of_workers_and_no_steps() -> None:
    told: list[str] = []
    order: Any = SimpleNamespace(actor=0, version=1, weights={}, state=(), seed=2)
    with workers_by(waiting, told.append):
        actors = RemoteActors([], waiting)
        actors.ask(order)
        actors.drop()
        actors.close()

    assert told == ["waiting for a free CPU"]
    news_of_workers()(0, 0, "to nobody after the block")
    assert told == ["waiting for a free CPU"]
