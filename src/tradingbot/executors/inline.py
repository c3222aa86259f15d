"""The executor of this process: items one after the other, when they are waited for."""

from __future__ import annotations

from collections import deque

from tradingbot.executors.executor import Outcome, Progress, Work, WorkItem, cancelled


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
