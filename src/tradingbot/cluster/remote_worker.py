"""A worker of a cluster as its driver sees it: an actor on one node, its item and its pulse."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from tradingbot.cluster.processes import end_process
from tradingbot.cluster.worker import ClusterWorker, Greeting, pack, unpack
from tradingbot.executors.jobs import Job

Said = Literal["greeting", "answer", "pulse"]


@dataclass(frozen=True)
class ClusterNode:
    """A machine, or a part of one, that is alive."""

    id: str
    host: str
    cpus: int

    def __str__(self) -> str:
        return f"{self.host} ({self.id[:8]})"


def alive_nodes() -> list[ClusterNode]:
    """Return the nodes of the cluster, in the order of their ids; asks the head."""
    import ray

    return sorted(
        (
            ClusterNode(each["NodeID"], each["NodeManagerAddress"], int(each["Resources"]["CPU"]))
            for each in ray.nodes()  # type: ignore[no-untyped-call]
            if each["Alive"] and each["Resources"].get("CPU", 0.0) >= 1.0
        ),
        key=lambda node: node.id,
    )


class RemoteWorker:
    """An actor, and what is awaited of it; it is asked for nothing before it has greeted."""

    def __init__(self, node: ClusterNode) -> None:
        """Start the actor on a node, wherever a CPU of it is free."""
        self.node = node
        self.job: Job | None = None
        self.greeting: Greeting | None = None
        self.heard_at = self.asked_at = time.monotonic()
        self._actor = _on_node(ClusterWorker, node, num_cpus=1, max_concurrency=2).remote()
        self.awaited: dict[Said, Any] = {"greeting": self._actor.greet.remote()}

    @property
    def is_free(self) -> bool:
        """Tell whether it would begin an item at once."""
        return self.greeting is not None and self.job is None

    def give(self, job: Job, opening: Any) -> None:
        """Send an item, and how work is opened."""
        self.job = job
        job.began_at = self.heard_at = time.monotonic()
        self.awaited["answer"] = self._actor.do.remote([opening], pack(job.item.payload))

    def ask_for_pulse(self, every_s: float) -> None:
        """Ask whether it lives, where the last answer came and is old enough."""
        now = time.monotonic()
        if self.job is not None and "pulse" not in self.awaited and now - self.asked_at >= every_s:
            self.asked_at = now
            self.awaited["pulse"] = self._actor.pulse.remote()

    def hear(self, said: Said) -> Any:
        """Take what was awaited and is there; raises what Ray raises where the worker is lost."""
        import ray

        found = ray.get(self.awaited.pop(said))
        self.heard_at = time.monotonic()
        return unpack(found) if said == "answer" else found

    def end(self, *, by_force: bool = False) -> None:
        """End the actor; by force where its process does not listen, e.g. because it is stopped."""
        import ray

        self.job, self.awaited = None, {}
        with suppress(ray.exceptions.RayError, ValueError):
            ray.kill(self._actor)
            if by_force and self.greeting is not None:
                ending = _on_node(end_process, self.node, num_cpus=0)
                ending.remote(self.greeting.process, self.greeting.begun)


def _on_node(remote: Callable[..., Any], node: ClusterNode, **options: Any) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(node.id, soft=False)
    return ray.remote(remote).options(scheduling_strategy=place, **options)
