"""What lives in a worker of a cluster: a class that Ray makes an actor of."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tradingbot.cluster.code_version import CodeVersion, code_version
from tradingbot.cluster.processes import begun_at
from tradingbot.executors.executor import OpenWork, Work
from tradingbot.executors.worker import ProgressReport, do_item


class Greeting(NamedTuple):
    """The first that is heard of a worker."""

    process: int
    begun: int
    """When the process began, in the kernel's ticks: its number may be another's by now."""
    code: CodeVersion
    node: str = ""
    """Id of its node; empty of a worker whose code does not say it yet."""
    host: str = ""


class ClusterWorker:
    """Does items one at a time and answers meanwhile that it lives; Ray gives it two threads."""

    def __init__(self) -> None:
        """Open nothing yet: whether this node may work is decided by its greeting."""
        self._open_work: OpenWork | None = None
        self._work: Work | None = None
        self._told: ProgressReport | None = None

    def greet(self) -> Greeting:
        """Say what this worker is, and where."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        host: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        number = os.getpid()
        return Greeting(number, begun_at(number), code_version(), node, host)

    def do(self, opening: list[Any], payload: bytes) -> bytes:
        """Do an item.

        Args:
            opening: How work is opened, as a reference to the cluster's store: what is large in it
                comes to a node once.
            payload: Of the item, packed.

        Returns:
            `Done` or `Failed`, packed.
        """
        import ray

        if self._open_work is None:
            self._open_work = ray.get(opening[0])
        self._told = None
        given = unpack(payload)
        answer, self._work = do_item(self._open_work, self._work, given, self._report)
        return pack(answer)

    def pulse(self) -> ProgressReport | None:
        """Answer, and say how far the item is."""
        return self._told

    def _report(self, finished: int, total: int, label: str) -> None:
        self._told = ProgressReport(finished, total, label)


def pack(message: Any) -> bytes:
    """Serialise as Ray does, arrays included: what Ray itself hands out cannot be written to."""
    from ray import cloudpickle

    packed: bytes = cloudpickle.dumps(message)  # type: ignore[no-untyped-call]
    return packed


def unpack(message: bytes) -> Any:
    """Return what was packed."""
    from ray import cloudpickle

    return cloudpickle.loads(message)
