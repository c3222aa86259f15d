"""A worker of a cluster as its driver sees it: an actor on one node, its item and its pulse.

Ray chooses the node: the first that has a CPU free, of those that were not refused. It knows what
other drivers use, and moves a worker that waits to a CPU that becomes free or joins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from tradingbot.cluster.processes import end_process
from tradingbot.cluster.worker import ClusterWorker, Greeting, pack, unpack
from tradingbot.executors.jobs import Job

Said = Literal["greeting", "answer", "pulse"]
_NODE_LABEL = "ray.io/node-id"
"""Which Ray gives to every node."""


@dataclass(frozen=True)
class NodeName:
    """A node as it is told."""

    id: str
    host: str

    def __str__(self) -> str:
        return f"{self.host} ({self.id[:8]})"


@dataclass(frozen=True)
class ClusterNode(NodeName):
    """A machine, or a part of one, that is alive."""

    cpus: int


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

    def __init__(self, refused: Collection[str] = ()) -> None:
        """Start the actor wherever a CPU is free, or will be.

        Args:
            refused: Ids of nodes that it must not be on.
        """
        self.node: NodeName | None = None
        """Known when it has greeted."""
        self.job: Job | None = None
        self.greeting: Greeting | None = None
        self.began_at = self.heard_at = self.asked_at = time.monotonic()
        self._actor = _started(refused)
        self.awaited: dict[Said, Any] = {"greeting": self._actor.greet.remote()}

    def waits_for_cpu(self) -> bool:
        """Tell whether Ray has no CPU for it yet; asks the head where it has not greeted."""
        return self.greeting is None and not self._known().get("Pid")

    def take_greeting(self, greeting: Greeting | None) -> NodeName:
        """Note what it is; return where: its own word, or the head's where it cannot say it."""
        self.greeting = greeting
        if greeting is not None and greeting.node:
            self.node = NodeName(greeting.node, greeting.host)
        else:
            place = self._known().get("Address", {})
            self.node = NodeName(place.get("NodeID", ""), place.get("IPAddress", "unknown"))
        return self.node

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
                ending = _on_node(end_process, self.greeting.node)
                ending.remote(self.greeting.process, self.greeting.begun)

    def _known(self) -> dict[str, Any]:
        """Return what the head knows of the actor."""
        from ray._private import state

        return dict(state.actors(self._actor._actor_id.hex()))


def _started(refused: Collection[str]) -> Any:
    """Start an actor that takes a CPU; nodes get theirs by turns."""
    import ray

    options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": 2, "scheduling_strategy": "SPREAD"}
    if known := sorted(filter(None, refused)):
        options["label_selector"] = {_NODE_LABEL: f"!in({','.join(known)})"}
    return ray.remote(ClusterWorker).options(**options).remote()


def _on_node(remote: Callable[..., Any], node: str) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(remote).options(scheduling_strategy=place, num_cpus=0)
