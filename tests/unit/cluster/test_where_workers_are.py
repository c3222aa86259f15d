"""Workers of several executors on one cluster: where they are, and what is told while they wait."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from fixtures.cluster_work import open_work
from fixtures.ray_nodes import RayNodes
from tradingbot.cluster import executor as rooms
from tradingbot.cluster.connection import connected
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.remote_worker import RemoteWorker, alive_nodes
from tradingbot.cluster.times import ClusterTimes
from tradingbot.executors.executor import Progress, WorkItem, ignore_progress

TIMES = ClusterTimes(heartbeat_s=0.1, silence_s=20.0, start_s=30.0, most_losses=1)


def squares(executor: RayExecutor, value: int, progress: Progress = ignore_progress) -> int:
    executor.submit(WorkItem("square", ("square", value)))
    found: int = executor.wait(progress).result()
    return found


def test_worker_takes_the_cpu_that_is_free_and_no_more_than_were_asked_for_start(
    nodes: RayNodes, tmp_path: Path
) -> None:
    start = partial(RayExecutor, partial(open_work, tmp_path), 1, times=TIMES)
    with start(address=nodes.address) as first:
        assert squares(first, 2) == 4
        with start(address=nodes.address) as second:
            assert squares(second, 3) == 9
            (one,), (other,) = first.workers, second.workers

    assert one.node is not None
    assert other.node is not None
    assert one.node.id != other.node.id


def test_worker_that_waits_is_told_and_kept_and_takes_the_cpu_that_becomes_free(
    nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "_TELL_S", 0.2)
    short = ClusterTimes(heartbeat_s=0.1, silence_s=1.0, start_s=60.0)
    work, told = partial(open_work, tmp_path), list[str]()

    def tell(_done: int, total: int, label: str) -> None:
        if not total:
            told.append(label)

    with RayExecutor(work, 2, address=nodes.address, times=TIMES) as others:
        while not all(worker.is_free for worker in others.workers):
            others._listen(ignore_progress)
        with RayExecutor(work, 2, address=nodes.address, times=short) as waiting:
            before, until = waiting.workers, time.monotonic() + 2.0
            while time.monotonic() < until:  # for longer than a worker may be silent
                waiting._listen(ignore_progress)
                waiting._look(tell)
            assert waiting.workers == before
            others._end(others.workers[0])
            assert squares(waiting, 3, tell) == 9
            until = time.monotonic() + 20.0
            while len(told) < 2 and time.monotonic() < until:
                waiting._look(tell)

    share = [text.partition(" s: ") for text in told]
    assert [part[2] for part in share] == ["2 of 2 workers", "1 of 2 workers"]
    assert all(part[0].startswith("waiting for a free CPU for ") for part in share)


def test_head_that_another_took_the_place_of_between_two_looks_is_let_go(
    nodes: RayNodes, tmp_path: Path
) -> None:
    """Ray ends the process that asks the new one by the connection to the old one."""
    told: list[str] = []
    with RayExecutor(partial(open_work, tmp_path), 1, address=nodes.address, times=TIMES) as own:
        assert squares(own, 2) == 4
        is_there, own._head = own._head, "of the head before"
        own._look(lambda _done, _total, label: told.append(label))
        assert own._head == is_there
        assert squares(own, 3) == 9

    assert is_there
    assert any("is gone" in text for text in told)


def test_worker_waits_rather_than_be_on_a_node_that_was_refused(nodes: RayNodes) -> None:
    with connected(nodes.address):
        import ray

        refused, allowed = alive_nodes()
        workers = [RemoteWorker([refused.id]) for _ in range(2)]
        greetings = [worker.awaited["greeting"] for worker in workers]
        there, waiting = ray.wait(greetings, timeout=30.0)
        late, _ = ray.wait(waiting, timeout=3.0)
        for worker in workers:
            worker.end()

        assert ray.get(there[0]).node == allowed.id
        assert late == []
