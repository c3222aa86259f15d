"""Executors of analyses: this process, one after another, or worker processes in parallel.

Every worker has one torch thread and opens the run once. Analyses go to disk where they are made;
only the notice of completion comes back. A worker that loses its parent exits.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple, Protocol

from tradingbot.domain.errors import UserError
from tradingbot.evaluation.analyses.analysis import Progress
from tradingbot.evaluation.pipeline.context import (
    AnalysisTask,
    EvaluationContext,
    EvaluationJob,
    open_context,
)

_SECONDS_BETWEEN_REPORTS = 0.2


class Executor(Protocol):
    """Makes analyses."""

    @property
    def is_free(self) -> bool:
        """Whether a worker is idle."""

    def give(self, task: AnalysisTask) -> None:
        """Give a task to an idle worker."""

    def wait(self, progress: Progress) -> AnalysisTask:
        """Return a task whose analysis was made meanwhile.

        Raises:
            UserError: If it cannot be made.
            RuntimeError: If making it failed, with its traceback.
        """


class InlineExecutor:
    """This process."""

    def __init__(self, context: EvaluationContext) -> None:
        """Keep the context; nothing is opened again."""
        self._context = context
        self._task: AnalysisTask | None = None

    @property
    def is_free(self) -> bool:
        """Whether nothing is to be done."""
        return self._task is None

    def give(self, task: AnalysisTask) -> None:
        """Keep it for `wait`."""
        self._task = task

    def wait(self, progress: Progress) -> AnalysisTask:
        """Make the analysis now."""
        assert self._task is not None
        task, self._task = self._task, None
        self._context.make(task, progress)
        return task


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class _Report(NamedTuple):
    finished: int
    total: int
    label: str


class _Completed(NamedTuple):
    pass


class _Failed(NamedTuple):
    text: str
    is_users: bool


class ProcessExecutor:
    """N worker processes; use as a context, at the end of which they are gone."""

    def __init__(self, job: EvaluationJob, count: int) -> None:
        """Start them."""
        context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._tasks: dict[int, AnalysisTask] = {}
        with _deaf_to_interrupts():
            for number in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(
                    target=_work, args=(job, theirs), name=f"analysis-{number}", daemon=True
                )
                process.start()
                theirs.close()
                self._workers.append(_Worker(process, ours))

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in self._workers:
            process.terminate()
            pipe.close()
        for process, _pipe in self._workers:
            process.join()

    @property
    def is_free(self) -> bool:
        """Whether a worker has no task."""
        return len(self._tasks) < len(self._workers)

    def give(self, task: AnalysisTask) -> None:
        """Send it to the first idle worker."""
        number = next(i for i in range(len(self._workers)) if i not in self._tasks)
        self._tasks[number] = task
        self._send(number, task)

    def wait(self, progress: Progress) -> AnalysisTask:
        """Listen until one is made."""
        while True:
            busy = {self._workers[number].pipe: number for number in self._tasks}
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                number = busy[pipe]
                told = self._receive(number)
                if isinstance(told, _Report):
                    progress(*told)
                elif isinstance(told, _Completed):
                    return self._tasks.pop(number)
                else:
                    self._refuse(number, told)

    def _send(self, number: int, task: AnalysisTask) -> None:
        with suppress(OSError):  # it died: what it said last is read next
            self._workers[number].pipe.send(task)

    def _receive(self, number: int) -> _Report | _Completed | _Failed:
        try:
            told: _Report | _Completed | _Failed = self._workers[number].pipe.recv()
        except (EOFError, OSError):
            process = self._workers[number].process
            process.join()
            return _Failed(f"its process ended with {process.exitcode}", is_users=False)
        return told

    def _refuse(self, number: int, failed: _Failed) -> None:
        name = self._tasks[number].name
        if failed.is_users:
            raise UserError(failed.text.rstrip("."))
        raise RuntimeError(f"analysis {name}: {failed.text}")


def _work(job: EvaluationJob, pipe: Connection) -> None:
    """Make analyses until the connection closes; the body of a worker."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    with suppress(EOFError, OSError):
        context = None
        while True:
            task: AnalysisTask = pipe.recv()
            try:
                context = context or open_context(job)
                context.make(task, _Reporter(pipe))
                pipe.send(_Completed())
            except UserError as e:
                pipe.send(_Failed(str(e), is_users=True))
            except Exception:
                pipe.send(_Failed(traceback.format_exc(), is_users=False))


class _Reporter:
    """Sends progress, not too often."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._last = pipe, 0.0

    def __call__(self, finished: int, total: int, label: str) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_REPORTS:
            self._last = now
            self._pipe.send(_Report(finished, total, label))


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes that are started in the block inherit that Ctrl-C is not theirs to hear."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: nothing interrupts it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
