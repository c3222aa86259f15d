"""The protocol of executors: items go in, outcomes come out in any order; and the simplest of them.

What is done with an item is a function that a worker builds once (`OpenWork`) and calls for each
item: it may hold an opened run or a loaded dataset. An item may be done twice, after the death of a
worker, so doing it must be harmless to repeat: results go to files that are written whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tradingbot.domain.errors import UserError

Progress = Callable[[int, int, str], None]
"""Told (finished, in all, what is done now)."""
Work = Callable[[Any, Progress], Any]
"""(payload, progress) → result."""
OpenWork = Callable[[], Work]
"""Builds the function that does items; a picklable one, e.g. `partial(open_work, job)`."""


@dataclass(frozen=True)
class WorkItem:
    """Something to do."""

    name: str
    """Of which no other unfinished item is called; said in every message about it."""
    payload: Any = None
    """Plain values that any process can be told."""
    timeout_s: float | None = None
    """Seconds after which it is given up; None: as long as it takes."""


@dataclass(frozen=True)
class Outcome:
    """What an item gave, or why it gave nothing."""

    item: WorkItem
    value: Any = None
    error: Exception | None = None

    def result(self) -> Any:
        """Return the value.

        Raises:
            UserError: If doing the item was refused, or its worker was lost.
            RuntimeError: If doing it failed, with its traceback.
        """
        if self.error is not None:
            raise self.error
        return self.value


class Executor(Protocol):
    """Does items."""

    @property
    def n_free(self) -> int:
        """How many items would begin at once if they were submitted now."""

    @property
    def n_lost(self) -> int:
        """How many workers died or fell silent while they did an item, and were replaced."""

    def submit(self, item: WorkItem) -> None:
        """Take an item; it begins when a worker is free.

        Raises:
            ValueError: If an unfinished item has this name.
        """

    def wait(self, progress: Progress) -> Outcome:
        """Return the outcome of an item that is finished, whichever is first.

        Raises:
            RuntimeError: If no item is unfinished.
        """

    def cancel(self, name: str) -> bool:
        """Give an item up; false where it is finished or unknown. `wait` returns its outcome."""


def ignore_progress(finished: int, total: int, label: str) -> None:
    """Take progress and say nothing."""


def run_items(
    executor: Executor, items: Sequence[WorkItem], progress: Progress = ignore_progress
) -> Iterator[Outcome]:
    """Yield the outcome of each item as it is finished; a failed one does not end the others."""
    for item in items:
        executor.submit(item)
    for _ in items:
        yield executor.wait(progress)


def cancelled(item: WorkItem) -> Outcome:
    """Return the outcome of an item that was given up."""
    return Outcome(item, error=UserError(f"{item.name} must not be cancelled", was="cancelled"))


class InlineExecutor:
    """Does items here; what is cancelled before its turn is not done."""

    def __init__(self, work: Work) -> None:
        """Keep the function that does items."""
        self._work = work
        self._waiting: deque[WorkItem] = deque()
        self._cancelled: deque[WorkItem] = deque()

    @property
    def n_free(self) -> int:
        """1 where nothing waits."""
        return int(not self._waiting)

    @property
    def n_lost(self) -> int:
        """0: it has no workers."""
        return 0

    def submit(self, item: WorkItem) -> None:
        """Keep it for `wait`.

        Raises:
            ValueError: If an unfinished item has this name.
        """
        if any(each.name == item.name for each in self._waiting):
            raise ValueError(f"item {item.name!r} is unfinished already")
        self._waiting.append(item)

    def wait(self, progress: Progress) -> Outcome:
        """Do the next item now; errors are part of its outcome, interrupts are not.

        Raises:
            RuntimeError: If no item is unfinished.
        """
        if self._cancelled:
            return cancelled(self._cancelled.popleft())
        if not self._waiting:
            raise RuntimeError("no item is unfinished")
        item = self._waiting.popleft()
        try:
            return Outcome(item, self._work(item.payload, progress))
        except Exception as e:
            return Outcome(item, error=e)

    def cancel(self, name: str) -> bool:
        """Give up an item whose turn has not come."""
        for item in self._waiting:
            if item.name == name:
                self._waiting.remove(item)
                self._cancelled.append(item)
                return True
        return False
