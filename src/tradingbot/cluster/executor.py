"""The executor of a cluster: workers on many nodes; what dies, stops or leaves is made up for.

A worker is wherever a CPU is free; it works once the driver knows that it computes with the same
code. A node that joins later is used, one that has other code is refused and gets no other worker.
An item whose worker is lost is done again. When the head is lost the driver lets go, waits for it
to be back, and goes on: what an executor knows is in the driver alone, and items are harmless to
repeat.
"""

from __future__ import annotations

import os
import time
from typing import Any

from tradingbot.cluster.code_version import code_version
from tradingbot.cluster.connection import (
    ClusterAddress,
    connect,
    head_answers,
    head_identity,
    is_connected,
    is_worker,
)
from tradingbot.cluster.remote_worker import RemoteWorker, Said, alive_nodes
from tradingbot.cluster.times import ClusterTimes
from tradingbot.domain.counts import write_count
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import OpenWork, Outcome, Progress
from tradingbot.executors.jobs import told_outcome
from tradingbot.executors.worker import Done, Failed
from tradingbot.executors.workers_executor import WorkersExecutor

_LOOK_S = 2.0
"""Between looks at which nodes there are."""
_TELL_S, _TELL_AGAIN_S = 3.0, 30.0
"""Without a CPU after which a worker is told to wait for one, and until it is told again."""
_REMEDY = "Look at its node's memory and at `tradingbot cluster status`, then run the command again"


class RayExecutor(WorkersExecutor[RemoteWorker]):
    """Workers on the nodes of a cluster; use as a context, at the end of which they are gone."""

    def __init__(
        self,
        open_work: OpenWork,
        count: int | None = None,
        *,
        address: ClusterAddress,
        times: ClusterTimes | None = None,
    ) -> None:
        """Connect, unless this process is connected, and start workers where CPUs are.

        Args:
            open_work: Called once by each worker, with its first item; what is large in it comes
                to a node once.
            count: Workers at most; None: one for each CPU of the cluster.
            address: Of the cluster.
            times: How long is waited.

        Raises:
            MissingExtraError: If Ray is not installed.
            ConfigError: If the cluster does not answer.
        """
        self._times = times or ClusterTimes()
        super().__init__(most_losses=self._times.most_losses, remedy=_REMEDY)
        self.refused: dict[str, str] = {}
        """Id of a node → why it does nothing."""
        self._n_told, self._told_at = 0, 0.0
        """Workers that were told to wait for a CPU, and when."""
        self._open_work, self._count, self._address = open_work, count, address
        self._connect()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        self._disconnect()

    @property
    def n_free(self) -> int:
        """How many workers, those that are starting included, have nothing to do."""
        idle = sum(worker.job is None for worker in self._workers)
        return max(idle - len(self._waiting), 0 if self._unfinished() else 1)

    @property
    def workers(self) -> list[RemoteWorker]:
        """Those that live now, as far as is known."""
        return list(self._workers)

    def wait(self, progress: Progress) -> Outcome:
        """Return the next outcome; workers that are lost meanwhile are replaced, told and counted.

        Raises:
            RuntimeError: If no item is unfinished.
            ConfigError: If no node may work, or the head is gone for too long.
        """
        while not self._finished:
            if not self._unfinished():
                raise RuntimeError("no item is unfinished")
            self._assign()
            self._listen(progress)
            if time.monotonic() - self._looked_at >= min(_LOOK_S, self._times.heartbeat_s):
                self._look(progress)
        return self._finished.popleft()

    def _connect(self) -> None:
        self._is_own = not is_connected()
        if self._is_own:
            connect(self._address)
        import ray

        self._head = head_identity(self._address)
        self._opening: Any = ray.put(self._open_work)
        self._looked_at = self._had_worker_at = time.monotonic()
        self._start_workers()

    def _disconnect(self) -> None:
        import ray

        self._opening = None
        if self._is_own:
            ray.shutdown()

    def _start_workers(self) -> None:
        """Have as many workers as are wanted, one for each CPU that may work at most.

        CPUs that others use count too: Ray gives a worker the first that becomes free.
        """
        cpus = sum(node.cpus for node in alive_nodes() if node.id not in self.refused)
        wanted = cpus if self._count is None else min(self._count, cpus)
        for _ in range(len(self._workers), wanted):
            self._workers.append(RemoteWorker(self.refused))

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.is_free and self._waiting:
                worker.give(self._waiting.popleft(), self._opening)

    def _listen(self, progress: Progress) -> None:
        """Wait for a heartbeat at most, and hear what is there."""
        import ray

        for worker in self._workers:
            worker.ask_for_pulse(self._times.heartbeat_s)
        awaited = {
            ref: (each, said) for each in self._workers for said, ref in each.awaited.items()
        }
        if not awaited:
            time.sleep(self._times.heartbeat_s)
            return
        there, _ = ray.wait(list(awaited), timeout=self._times.heartbeat_s)
        for ref in there:
            worker, said = awaited[ref]
            if worker not in self._workers:
                continue  # ended by what was heard before
            try:
                self._hear(worker, said, worker.hear(said), progress)
            except ray.exceptions.RayTaskError as e:
                self._hear(worker, said, Failed(str(e), is_users=False), progress)
            except ray.exceptions.RayError as e:
                self._lose(worker, _cause(e), progress)

    def _hear(self, worker: RemoteWorker, said: Said, message: Any, progress: Progress) -> None:
        if said == "greeting":
            self._welcome(worker, message, progress)
        elif said == "pulse":
            if isinstance(message, tuple) and not isinstance(message, Failed):
                progress(*message)
        elif worker.job is not None:
            assert isinstance(message, Done | Failed)
            self._finished.append(told_outcome(worker.job.item, message))
            worker.job = None

    def _welcome(self, worker: RemoteWorker, greeting: Any, progress: Progress) -> None:
        """Let a worker work, or refuse its node."""
        if isinstance(greeting, Failed):  # its code does not even have the room
            differences = greeting.text.strip().splitlines()[-1]
            node = worker.take_greeting(None)
        else:
            differences = greeting.code.differences(code_version())
            node = worker.take_greeting(greeting)
        if not differences:
            return
        is_new = node.id not in self.refused
        self.refused[node.id] = f"node {node}: {differences}"
        if is_new:
            progress(0, 0, f"refused: {self.refused[node.id]}")
        self._end(worker)
        for other in [each for each in self._workers if each.waits_for_cpu()]:
            self._end(other)  # it could come to this node: others are started that cannot

    def _look(self, progress: Progress) -> None:
        """Give up workers that are silent and items that take too long; see who has joined."""
        now = time.monotonic()
        paused = now - self._looked_at > self._times.silence_s / 2.0
        self._looked_at = now
        self._had_worker_at = now if paused else self._had_worker_at
        for worker in list(self._workers):
            if paused:  # this process was busy or stopped itself, and has not listened
                worker.heard_at = now
            limit = self._times.start_s if worker.greeting is None else self._times.silence_s
            if worker.job is not None or worker.greeting is None:
                self._check_time(worker, now, limit, progress)
        head = head_identity(self._address) if head_answers(self._address) else ""
        if head is None:
            return  # it listens and does not answer yet
        if not head or head != (self._head or head):  # gone, or another one in its place
            self._return_to_head(progress)
        self._start_workers()
        self._require_workers(now)
        self._tell_who_waits(now, progress)

    def _require_workers(self, now: float) -> None:
        if any(worker.greeting is not None for worker in self._workers):
            self._had_worker_at = now
        elif self.refused and not self._workers:
            raise ConfigError(
                "a node must have the code of the driver",
                was="; ".join(self.refused.values()),
                remedy="Install the same sources and packages on it, and start it again",
            )
        elif now - self._had_worker_at > self._times.start_s:
            raise ConfigError(
                "a cluster must have a node with a free CPU",
                was=f"none for {self._times.start_s:g} s",
                where=self._address.head,
                remedy="Add one: tradingbot cluster start --address HOST:PORT",
            )

    def _tell_who_waits(self, now: float, progress: Progress) -> None:
        """Say when workers have no CPU, when it is another number of them, and now and then."""
        old = [each for each in self._workers if now - each.began_at > _TELL_S]
        waiting = [each for each in old if each.waits_for_cpu()]
        if len(waiting) == self._n_told and now - self._told_at < _TELL_AGAIN_S:
            return
        self._n_told, self._told_at = len(waiting), now
        if waiting:
            share = f"{len(waiting)} of {write_count(len(self._workers), 'worker')}"
            longest = now - min(each.began_at for each in waiting)
            progress(0, 0, f"waiting for a free CPU for {longest:.0f} s: {share}")

    def _lose(self, worker: RemoteWorker, cause: str, progress: Progress) -> None:
        """Do as every executor does, and say on which node it was."""
        place = "" if worker.node is None else f", on node {worker.node}"
        super()._lose(worker, f"{cause}{place}", progress)

    def _end(self, worker: RemoteWorker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        worker.end(by_force=True)

    def _return_to_head(self, progress: Progress) -> None:
        """Let go of a head that is gone, wait for it, and begin again what was under way.

        A worker that has workers of its own ends: what it answered would be the outcome of its
        item, which its driver does again where the worker is lost.
        """
        if is_worker():
            os._exit(1)
        progress(0, 0, f"the head {self._address.head} is gone; waiting for it")
        under_way = [worker.job for worker in self._workers if worker.job is not None]
        self._n_lost += len(under_way)
        self._waiting.extendleft(reversed(under_way))
        self._workers.clear()
        self.refused.clear()
        self._is_own = True
        self._disconnect()
        until = time.monotonic() + self._times.head_s
        while True:
            if head_answers(self._address):
                try:
                    return self._connect()
                except ConfigError:  # it is starting
                    pass
            if time.monotonic() > until:
                raise ConfigError(
                    "the head of the cluster must be there",
                    was=f"gone for {self._times.head_s:g} s",
                    where=self._address.head,
                    remedy="Start it again, then run the same command: what is finished is kept",
                )
            time.sleep(self._times.heartbeat_s)


def _cause(error: Exception) -> str:
    import ray

    if isinstance(error, ray.exceptions.RayActorError):
        return "its process died or its node left"
    return f"Ray says {type(error).__name__}"
