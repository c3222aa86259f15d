"""Which workers do what can be done side by side: processes of this machine, unless told otherwise.

Where work is done changes no result, so it is no argument of what is computed: a command says it
once, and whatever starts workers within the block finds it (evaluations, trials, actors).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

from tradingbot.executors.executor import Executor, OpenWork
from tradingbot.executors.processes import ProcessExecutor


class StartWorkers(Protocol):
    """Starts an executor with at most `count` workers; they are gone after its context."""

    def __call__(self, open_work: OpenWork, count: int) -> AbstractContextManager[Executor]:
        """Start them."""


_CHOSEN: ContextVar[StartWorkers | None] = ContextVar("workers", default=None)


@contextmanager
def workers_by(start: StartWorkers | None) -> Iterator[None]:
    """Let work within the block be done by these workers; None: by processes."""
    token = _CHOSEN.set(start)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def are_elsewhere() -> bool:
    """Tell whether workers were chosen that are no processes of this one."""
    return _CHOSEN.get() is not None


def start_workers(open_work: OpenWork, count: int) -> AbstractContextManager[Executor]:
    """Start the workers that were chosen, processes of this machine where none were."""
    start: StartWorkers = _CHOSEN.get() or ProcessExecutor
    return start(open_work, count)
