"""Which workers do what can be done side by side: processes of this machine, unless told otherwise.

Where work is done changes no result, so it is no argument of what is computed: a command says it
once, and whatever starts workers within the block finds it (evaluations, trials, actors).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

from tradingbot.executors.executor import Executor, OpenWork, Progress
from tradingbot.executors.processes import ProcessExecutor


class StartWorkers(Protocol):
    """Starts an executor with at most `count` workers; they are gone after its context."""

    def __call__(self, open_work: OpenWork, count: int) -> AbstractContextManager[Executor]:
        """Start them."""


Note = Callable[[str], None]
"""Takes words for a person."""


def _say_nothing(_: str) -> None:
    """Take words and drop them."""


_NOTE: ContextVar[Note] = ContextVar("note", default=_say_nothing)
_CHOSEN: ContextVar[StartWorkers | None] = ContextVar("workers", default=None)


@contextmanager
def workers_by(start: StartWorkers | None, note: Note = _say_nothing) -> Iterator[None]:
    """Let work within the block be done by these workers.

    Args:
        start: Starts them; None: processes.
        note: Told what happens to workers of learners, which have no progress of their own to
            tell it by, e.g. that they wait or are replaced.
    """
    chosen, told = _CHOSEN.set(start), _NOTE.set(note)
    try:
        yield
    finally:
        _NOTE.reset(told)
        _CHOSEN.reset(chosen)


def news_of_workers() -> Progress:
    """Return what an executor is to tell its progress where only news of its workers matter."""
    note = _NOTE.get()

    def tell(_done: int, total: int, label: str) -> None:
        if not total:
            note(label)

    return tell


def are_elsewhere() -> bool:
    """Tell whether workers were chosen that are no processes of this one."""
    return _CHOSEN.get() is not None


def start_workers(open_work: OpenWork, count: int) -> AbstractContextManager[Executor]:
    """Start the workers that were chosen, processes of this machine where none were."""
    start: StartWorkers = _CHOSEN.get() or ProcessExecutor
    return start(open_work, count)
