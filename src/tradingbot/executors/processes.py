"""The executor of N processes: what dies or falls silent is replaced, and its item tried again.

A worker tells that it is alive while it works. One that ends, or says nothing for too long (it was
stopped, or the machine swaps), is killed and replaced; its item is done once more by the new one,
and reported by name if that is lost too. Nothing here waits without a limit.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.executors import worker as messages
from tradingbot.executors.by_value import copied_bytes
from tradingbot.executors.executor import OpenWork, Outcome, Progress, WorkItem
from tradingbot.executors.jobs import Job, told_outcome
from tradingbot.executors.worker import deaf_to_interrupts, serve_items
from tradingbot.executors.workers_executor import WorkersExecutor

_ENDING_S = 2.0  # a worker that is asked to end gets so long before it is killed
_REMEDY = "Use fewer processes or free memory, then run the same command again"
_CAUSES = {"SIGKILL": " (the system does so when memory is short)"}


@dataclass(frozen=True)
class WorkerTimes(CheckedFields):
    """How long is waited for a worker, in seconds."""

    heartbeat_s: float = bounded(1.0, "> 0")
    """Between signs of life."""
    silence_s: float = 120.0
    """Without one, after which a worker counts as stalled."""
    start_s: float = bounded(600.0, "> 0")
    """Until the first one, importing included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        is_long = self.silence_s >= 3.0 * self.heartbeat_s
        require(is_long, "silence_s must be 3 heartbeats or more", self)


class _Worker:
    """A process, and the thread that talks with it so that nothing here blocks on its pipe."""

    def __init__(self, open_work: OpenWork, number: int, heartbeat_s: float, heard: _Inbox) -> None:
        context = multiprocessing.get_context("spawn")
        self.number, self._heard = number, heard
        self.job: Job | None = None
        self.heard_at, self.has_spoken = 0.0, False
        self._items: queue.SimpleQueue[WorkItem | None] = queue.SimpleQueue()
        ours, theirs = context.Pipe()
        # The start of a process waits for it to read its arguments, for ever where it dies first:
        # what may be large goes through our own pipe, by the thread.
        self._opening = copied_bytes(open_work)
        self.process: BaseProcess = context.Process(
            target=serve_items,
            args=(theirs, heartbeat_s),
            name=f"worker-{number}",
            daemon=True,
        )
        with deaf_to_interrupts():
            self.process.start()
        theirs.close()
        threading.Thread(target=self._talk, args=(ours,), daemon=True).start()

    def give(self, job: Job) -> None:
        """Send a job."""
        self.job, job.began_at, self.heard_at = job, time.monotonic(), time.monotonic()
        self._items.put(job.item)

    def end(self, *, kill: bool = False) -> None:
        """End the process, by force if it does not listen; a stopped one does not."""
        self._items.put(None)
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
            self.process.join(_ENDING_S)
            self.process.kill()
        self.process.join(_ENDING_S)

    def cause_of_end(self) -> str:
        """Say how the process ended."""
        self.process.join(_ENDING_S)
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"its process ended with code {code}"
        name = signal.Signals(-code).name
        return f"its process was ended by {name}{_CAUSES.get(name, '')}"

    def _talk(self, pipe: Connection) -> None:
        try:
            while (item := self._items.get()) is not None:
                if self._opening:
                    pipe.send_bytes(self._opening)
                    self._opening = b""
                pipe.send_bytes(copied_bytes(item.payload))
                message: messages.Message = messages.Beat()
                while not isinstance(message, messages.Done | messages.Failed):
                    message = pipe.recv()
                    self._heard.put((self, message))
        except (EOFError, OSError):
            self._heard.put((self, messages.Gone()))
        finally:
            pipe.close()


_Inbox = queue.SimpleQueue[tuple[_Worker, messages.Message]]


class ProcessExecutor(WorkersExecutor[_Worker]):
    """N worker processes; use as a context, at the end of which they are gone."""

    def __init__(
        self, open_work: OpenWork, count: int, *, times: WorkerTimes | None = None
    ) -> None:
        """Start them.

        Args:
            open_work: Called once by each worker, with its first item.
            count: Processes.
            times: How long is waited for them.
        """
        super().__init__(most_losses=1, remedy=_REMEDY)
        self._open_work, self._times = open_work, times or WorkerTimes()
        self._heard: _Inbox = queue.SimpleQueue()
        self._looked_at = time.monotonic()
        self._workers = [self._start(number) for number in range(count)]

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.end()

    @property
    def n_free(self) -> int:
        """How many workers have nothing to do and nothing waiting for them."""
        idle = sum(worker.job is None for worker in self._workers)
        return max(idle - len(self._waiting), 0)

    def wait(self, progress: Progress) -> Outcome:
        """Return the next outcome; one that is lost meanwhile is replaced, told and counted.

        Raises:
            RuntimeError: If no item is unfinished.
        """
        while not self._finished:
            if not self._unfinished():
                raise RuntimeError("no item is unfinished")
            self._assign()
            with suppress(queue.Empty):
                self._hear(*self._heard.get(timeout=self._times.heartbeat_s), progress)
            if time.monotonic() - self._looked_at >= self._times.heartbeat_s:
                self._check_times(progress)
        return self._finished.popleft()

    def _start(self, number: int) -> _Worker:
        return _Worker(self._open_work, number, self._times.heartbeat_s, self._heard)

    def _assign(self) -> None:
        for place, worker in enumerate(self._workers):
            if worker.job is None and self._waiting:
                if not worker.process.is_alive():  # it died while it had nothing to do
                    worker = self._workers[place] = self._start(worker.number)
                worker.give(self._waiting.popleft())

    def _hear(self, worker: _Worker, message: messages.Message, progress: Progress) -> None:
        job = worker.job
        if job is None or worker not in self._workers:
            return  # the last words of one that was replaced
        worker.heard_at, worker.has_spoken = time.monotonic(), True
        if isinstance(message, messages.ProgressReport):
            progress(*message)
        elif isinstance(message, messages.Gone):
            self._lose(worker, worker.cause_of_end(), progress)
        elif isinstance(message, messages.Done | messages.Failed):
            worker.job = None
            self._finished.append(told_outcome(job.item, message))

    def _check_times(self, progress: Progress) -> None:
        """Give up workers that are silent, and items that take too long."""
        now = time.monotonic()
        paused = now - self._looked_at > self._times.silence_s / 2.0
        self._looked_at = now
        for worker in list(self._workers):
            if worker.job is None:
                continue
            if paused:  # this process was busy or stopped itself, and has not listened
                worker.heard_at = now
            limit = self._times.silence_s if worker.has_spoken else self._times.start_s
            self._check_time(worker, now, limit, progress)

    def _end(self, worker: _Worker) -> None:
        worker.job = None
        worker.end(kill=True)
        self._workers[self._workers.index(worker)] = self._start(worker.number)
