"""A cluster of three nodes on this machine beside processes on the same cores.

Outcomes are compared before anything is timed. Nodes are real, kills are SIGKILL, the trainings'
data synthetic.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tradingbot.app.console import Progress
from tradingbot.cluster.connection import ClusterAddress
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.local import own_address, start_nodes, stop_nodes
from tradingbot.cluster.node_settings import NodeSettings
from tradingbot.cluster.times import ClusterTimes
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    OpenWork,
    WorkItem,
    ignore_progress,
    run_items,
)
from tradingbot.executors.processes import ProcessExecutor, WorkerTimes
from tradingbot_benchmarks.cluster.items import open_deaths, open_products
from tradingbot_benchmarks.cluster.trainings import TrainingJob, open_trainings, training_items
from tradingbot_benchmarks.record import BenchRecord, against

NODES = 3
OVERHEAD_BUDGET_FRAC = 0.10
"""By which items of a tenth of a second may take longer on a cluster."""


@dataclass(frozen=True)
class ClusterSize:
    """How much is measured."""

    items: int = 40
    """Of each length, in a round."""
    rounds: int = 7
    """By turns on the cluster and by processes."""
    work_s: float = 0.1
    """What an item with work takes on one core of this machine, about."""
    deaths: int = 5
    trainings: int = 6
    """Each is killed once."""
    updates: int = 24


FULL = ClusterSize()
QUICK = ClusterSize(items=20, rounds=2, work_s=0.03, deaths=2, trainings=2, updates=8)


def measure_cluster(size: ClusterSize, progress: Progress) -> Iterator[BenchRecord]:
    """Start a cluster, yield what is measured as it comes, and stop the cluster."""
    with TemporaryDirectory(prefix="tb-bench-") as folder, _cluster(Path(folder)) as address:
        progress(0, 3, "items")
        yield from _measure_items(size, address)
        progress(1, 3, "recovery")
        yield _measure_recovery(size, address, Path(folder))
        progress(2, 3, "trainings")
        yield _compare_trainings(size, address, Path(folder))
        progress(3, 3, "done")


@contextmanager
def _cluster(folder: Path) -> Iterator[ClusterAddress]:
    place = folder / "cluster"
    try:
        start_nodes(place, NodeSettings(folder="", token_file="", store_mb=80), NODES)
        yield own_address(place)
    finally:
        stop_nodes(place)


def _on_ray(address: ClusterAddress, opening: OpenWork, count: int) -> RayExecutor:
    times = ClusterTimes(heartbeat_s=0.2)
    return RayExecutor(opening, count, address=address, times=times)


def _measure_items(size: ClusterSize, address: ClusterAddress) -> list[BenchRecord]:
    """Time the same items on the same cores, empty ones and such with work."""
    cores = min(len(os.sched_getaffinity(0)), NODES)
    empty = [WorkItem(f"empty {n}", (n, 0)) for n in range(size.items)]
    products = _products_in(size.work_s)
    work = [WorkItem(f"work {n}", (n, products)) for n in range(size.items)]
    with (
        _on_ray(address, open_products, cores) as ray,
        ProcessExecutor(open_products, cores, times=WorkerTimes(heartbeat_s=0.2)) as processes,
    ):
        first = [WorkItem(f"first {n}", (n, 1)) for n in range(4 * cores)]
        if _values(ray, first) != _values(processes, first):
            raise AssertionError("items must give the same on a cluster as by processes")
        # By turns, so that a neighbour's work falls on both alike.
        rounds = [(_seconds(ray, work), _seconds(processes, work)) for _ in range(size.rounds)]
        empties = [(_seconds(ray, empty), _seconds(processes, empty)) for _ in range(size.rounds)]
    told = f"{size.items} items on {cores} cores, workers opened before; medians of {size.rounds}"
    overhead = statistics.median(on_ray / here for on_ray, here in rounds) - 1.0
    milliseconds = 1e3 * statistics.median(here for _, here in rounds) * cores / size.items
    empty_ray, empty_here = (statistics.median(each) for each in zip(*empties, strict=True))
    return [
        BenchRecord(
            "ray_overhead",
            overhead,
            "fraction",
            OVERHEAD_BUDGET_FRAC,
            "budget, at most",
            note=f"{told}; {milliseconds:.0f} ms of work each: time on Ray ÷ by processes − 1",
        ),
        BenchRecord(
            "ray_items_per_s",
            size.items / empty_ray,
            "1/s",
            size.items / empty_here,
            "processes",
            empty_here / empty_ray,
            note=f"{told}, empty",
        ),
    ]


def _products_in(seconds: float) -> int:
    """Return how many products of matrices make an item that takes so long on this machine."""
    tried, work = 20, open_products()
    took = []
    for number in range(3):
        began = time.perf_counter()
        work((number, tried), ignore_progress)
        took.append(time.perf_counter() - began)
    return max(1, round(tried * seconds / min(took)))


def _seconds(executor: Executor, items: Sequence[WorkItem]) -> float:
    began = time.perf_counter()
    _values(executor, items)
    return time.perf_counter() - began


def _values(executor: Executor, items: Sequence[WorkItem]) -> dict[str, Any]:
    return {each.item.name: each.result() for each in run_items(executor, items)}


def _measure_recovery(size: ClusterSize, address: ClusterAddress, folder: Path) -> BenchRecord:
    """Time from the death of a worker until another begins its item again; medians."""
    medians = []
    for name in ("ray", "processes"):
        place = folder / f"deaths-{name}"
        place.mkdir()
        opening = partial(open_deaths, place)
        opened = (
            _on_ray(address, opening, NODES)
            if name == "ray"
            else ProcessExecutor(opening, NODES, times=WorkerTimes(heartbeat_s=0.2))
        )
        with opened as executor:
            items = [WorkItem(f"death {n}", f"{n}") for n in range(size.deaths)]
            took = [_values(executor, [item])[item.name] for item in items]
        medians.append(statistics.median(took))
    note = f"median of {size.deaths}: SIGKILL of a worker until its item is begun by another"
    found = against("kill_recovery_s", medians[0], "s", medians[1], "processes")
    return BenchRecord(*(*_fields(found), note))


def _fields(record: BenchRecord) -> tuple[Any, ...]:
    return (
        *(record.name, record.value, record.unit),
        *(record.reference, record.reference_name, record.ratio),
    )


def _compare_trainings(size: ClusterSize, address: ClusterAddress, folder: Path) -> BenchRecord:
    """Kill every training's worker once; compare all bits with trainings that nothing killed."""
    job = TrainingJob(folder / "killed", size.updates, dies_at=size.updates // 2)
    job.workspace.mkdir()
    with _on_ray(address, partial(open_trainings, job), NODES) as executor:
        killed = _values(executor, training_items(size.trainings))
        n_lost = executor.n_lost
    whole = open_trainings(TrainingJob(folder / "whole", size.updates))
    equal = killed == _values(InlineExecutor(whole), training_items(size.trainings))
    note = (
        f"{size.trainings} trainings of {size.updates} updates on {NODES} nodes, {n_lost} workers "
        "killed: weights, state and journal equal those of one process that nothing killed"
    )
    return BenchRecord(
        "bitwise_equal_after_kills", float(equal), "1 or 0", 1.0, "goal", float(equal), note
    )
