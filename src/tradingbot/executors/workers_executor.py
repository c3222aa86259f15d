"""What executors with workers have in common: items that wait, are lost, late, cancelled, done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Generic, Protocol, TypeVar

from tradingbot.executors.executor import Outcome, Progress, WorkItem, cancelled
from tradingbot.executors.jobs import Job, late_outcome, lost_outcome


class BusyWorker(Protocol):
    """A worker as its executor sees it."""

    job: Job | None
    """What it does now."""
    heard_at: float
    """When it last gave a sign of life, on the executor's clock."""


WorkerT = TypeVar("WorkerT", bound=BusyWorker)


class WorkersExecutor(ABC, Generic[WorkerT]):
    """Keeps the books of items; subclasses know how workers are started, heard and ended."""

    def __init__(self, *, most_losses: int, remedy: str) -> None:
        """Begin with nothing to do.

        Args:
            most_losses: Workers that may be lost over one item before it is reported.
            remedy: What a person does about an item that was lost so often.
        """
        self._most_losses, self._remedy = most_losses, remedy
        self._waiting: deque[Job] = deque()
        self._finished: deque[Outcome] = deque()
        self._workers: list[WorkerT] = []
        self._n_lost = 0

    @property
    def n_lost(self) -> int:
        """How many workers died, fell silent or left while they did an item."""
        return self._n_lost

    def submit(self, item: WorkItem) -> None:
        """Take an item; the first worker that is free does it.

        Raises:
            ValueError: If an unfinished item has this name.
        """
        if any(job.item.name == item.name for job in self._unfinished()):
            raise ValueError(f"item {item.name!r} is unfinished already")
        self._waiting.append(Job(item))
        self._assign()

    def cancel(self, name: str) -> bool:
        """Give an item up; a worker that does it is ended."""
        for job in self._waiting:
            if job.item.name == name:
                self._waiting.remove(job)
                self._finished.append(cancelled(job.item))
                return True
        for worker in self._workers:
            if worker.job is not None and worker.job.item.name == name:
                self._finished.append(cancelled(worker.job.item))
                self._end(worker)
                return True
        return False

    @abstractmethod
    def _assign(self) -> None:
        """Give what waits to workers that are free."""

    @abstractmethod
    def _end(self, worker: WorkerT) -> None:
        """End a worker, whatever it does; another takes its place."""

    def _unfinished(self) -> list[Job]:
        busy = [worker.job for worker in self._workers if worker.job is not None]
        return [*self._waiting, *busy]

    def _check_time(self, worker: WorkerT, now: float, limit_s: float, progress: Progress) -> None:
        """End a worker whose item takes too long, or that was silent for longer than a limit."""
        if worker.job is not None and worker.job.is_late(now):
            self._finished.append(late_outcome(worker.job.item))
            self._end(worker)
        elif now - worker.heard_at > limit_s:
            self._lose(worker, f"its process gave no sign of life for {limit_s:g} s", progress)

    def _lose(self, worker: WorkerT, cause: str, progress: Progress) -> None:
        """End a worker; do its item again, or report it where that was tried often enough."""
        job = worker.job
        self._end(worker)
        if job is None:
            return
        job.losses.append(cause)
        self._n_lost += 1
        if len(job.losses) <= self._most_losses:
            self._waiting.appendleft(job)
            progress(0, 0, f"{job.item.name} again: {cause}; workers lost: {self.n_lost}")
        else:
            self._finished.append(lost_outcome(job, self._remedy))
