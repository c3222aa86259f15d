"""A thread that talks to the database, so that no caller waits longer than its budget."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class DatabaseWorker:
    """Does one piece of work at a time; nothing queues behind work that hangs."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._work = queue.SimpleQueue()
        self._last: Future[Any] | None = None
        # A daemon: a process must be able to end while a database does not answer.
        threading.Thread(target=self._run, name="journal", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether earlier work, which its caller stopped waiting for, is not done."""
        return self._last is not None and not self._last.done()

    def do(self, work: Callable[[], _Result], timeout_s: float) -> _Result:
        """Return the result of a piece of work, or stop waiting for it.

        Raises:
            TimeoutError: If it takes longer, or earlier work still does; it may succeed later.
        """
        if self.is_busy:
            raise TimeoutError
        future: Future[Any] = Future()
        self._last = future
        self._work.put((work, future))
        result: _Result = future.result(timeout_s)
        return result

    def close(self) -> None:
        """Let the thread end after its work."""
        self._work.put(None)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, future = item
            try:
                future.set_result(work())
            except BaseException as e:
                future.set_exception(e)
