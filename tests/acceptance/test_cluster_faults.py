"""T09 to T12 on three real nodes: whatever dies, trainings end with the bits they would have.

Real processes, real SIGKILL and SIGSTOP. Trainings are items; one whose worker dies is resumed from
its last checkpoint by another. Synthetic data.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from fixtures.full_storage import COUNT, UPDATES
from fixtures.ray_nodes import RayNodes, ray_nodes
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.times import ClusterTimes
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import InlineExecutor, run_items
from tradingbot.runs.ledger import Ledger
from tradingbot_benchmarks.cluster.trainings import (
    SAVE_EVERY,
    UPDATES_FILE,
    TrainingJob,
    open_trainings,
    repeated_updates,
    training_items,
)

pytestmark = pytest.mark.slow  # beside `tests/unit/cluster`, which kills workers of two nodes
TIMES = ClusterTimes(heartbeat_s=0.2, silence_s=20.0, start_s=120.0)
_SOURCES = Path(__file__).resolve().parents[2] / "src"
_PATIENCE_S = 120.0


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[RayNodes]:
    (tmp_path / "ray").mkdir()
    with ray_nodes(tmp_path / "ray", "second", "third") as found:
        yield found


def whole(tmp_path: Path, count: int, updates: int) -> dict[str, str]:
    """Return the bits of the same trainings in this process, which nothing kills."""
    work = open_trainings(TrainingJob(tmp_path / "whole", updates))
    return {
        each.item.name: each.result()
        for each in run_items(InlineExecutor(work), training_items(count))
    }


def on_cluster(
    nodes: RayNodes,
    job: TrainingJob,
    count: int,
    disturb: Callable[[RayExecutor], None],
    times: ClusterTimes = TIMES,
) -> tuple[dict[str, str], int]:
    """Train on the cluster while it is disturbed; return bits, and workers that were lost."""
    job.workspace.mkdir(exist_ok=True)
    with RayExecutor(partial(open_trainings, job), address=nodes.address, times=times) as executor:
        with beside(partial(disturb, executor)):
            outcomes = list(run_items(executor, training_items(count)))
        return {each.item.name: each.result() for each in outcomes}, executor.n_lost


@contextmanager
def beside(act: Callable[[], None]) -> Iterator[None]:
    """Let something happen while the block runs; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as e:
            raised.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join(_PATIENCE_S)
    assert not raised, raised


def await_updates(job: TrainingJob, count: int) -> None:
    """Wait until so many updates were made, by all trainings together."""
    until = time.monotonic() + _PATIENCE_S
    path = job.workspace / UPDATES_FILE
    while not path.exists() or path.read_text().count("\n") < count:
        assert time.monotonic() < until
        time.sleep(0.02)


def require_sound(
    job: TrainingJob, found: dict[str, str], expected: dict[str, str], n_lost: int
) -> None:
    """Same bits, no more work lost than lies between checkpoints, every trial counted once."""
    assert found == expected
    lost = repeated_updates(job.workspace)
    assert sum(lost.values()) <= SAVE_EVERY * n_lost
    trials = [each for each in Ledger(job.workspace).entries() if each.kind == "training"]
    assert sorted(each.run for each in trials) == sorted(f"seed-{n}" for n in range(len(expected)))


def kill_busy(executor: RayExecutor, number: signal.Signals) -> bool:
    """Send a signal to a worker that is at work; whether there was one."""
    for worker in executor.workers:
        if worker.job is not None and worker.greeting is not None:
            os.kill(worker.greeting.process, number)
            return True
    return False


def test_trainings_with_a_killed_worker_end_with_the_same_bits(
    nodes: RayNodes, tmp_path: Path
) -> None:
    job = TrainingJob(tmp_path / "cluster", updates=12, pause_s=0.2)

    def disturb(executor: RayExecutor) -> None:
        await_updates(job, 8)
        assert kill_busy(executor, signal.SIGKILL)

    found, n_lost = on_cluster(nodes, job, 3, disturb)

    assert n_lost == 1
    require_sound(job, found, whole(tmp_path, 3, 12), n_lost)


def test_worker_killed_every_30_seconds_for_10_minutes_loses_no_bit(
    nodes: RayNodes, tmp_path: Path
) -> None:
    every_s = float(os.environ.get("KILL_EVERY_S", "30"))
    for_s = float(os.environ.get("KILL_FOR_S", "600"))
    job = TrainingJob(tmp_path / "cluster", updates=60, pause_s=1.0)
    count = max(3, round(3 * for_s / 65.0))
    ended, kills = threading.Event(), list[bool]()

    def disturb(executor: RayExecutor) -> None:
        until = time.monotonic() + for_s
        while time.monotonic() < until and not ended.wait(every_s):
            kills.append(kill_busy(executor, signal.SIGKILL))

    found, n_lost = on_cluster(nodes, job, count, disturb)
    ended.set()

    assert sum(kills) >= 0.7 * for_s / every_s
    assert 0 < n_lost <= sum(kills)
    require_sound(job, found, whole(tmp_path, count, 60), n_lost)


def test_straggler_is_replaced_and_the_barrier_does_not_hang(
    nodes: RayNodes, tmp_path: Path
) -> None:
    job = TrainingJob(tmp_path / "cluster", updates=12, pause_s=0.2)
    times = ClusterTimes(heartbeat_s=0.2, silence_s=5.0, start_s=120.0)

    def disturb(executor: RayExecutor) -> None:
        await_updates(job, 8)
        assert kill_busy(executor, signal.SIGSTOP)

    found, n_lost = on_cluster(nodes, job, 3, disturb, times)

    assert n_lost == 1
    require_sound(job, found, whole(tmp_path, 3, 12), n_lost)


def node_ids(executor: RayExecutor) -> set[str]:
    """Return the nodes on which workers have greeted."""
    return {worker.node.id for worker in executor.workers if worker.node is not None}


def test_node_that_leaves_and_another_that_joins_change_no_bit(
    nodes: RayNodes, tmp_path: Path
) -> None:
    job = TrainingJob(tmp_path / "cluster", updates=24, pause_s=0.3)
    seen: list[set[str]] = []

    def disturb(executor: RayExecutor) -> None:
        await_updates(job, 8)
        seen.append(node_ids(executor))
        nodes.kill("third")
        nodes.start("fourth")
        until = time.monotonic() + _PATIENCE_S
        while len(node_ids(executor) - seen[0]) == 0:
            assert time.monotonic() < until  # until a worker is on the node that joined
            time.sleep(0.05)

    found, n_lost = on_cluster(nodes, job, 8, disturb)

    assert 1 <= n_lost <= 2
    require_sound(job, found, whole(tmp_path, 8, 24), n_lost)


def test_head_that_is_lost_and_restarted_changes_no_bit(nodes: RayNodes, tmp_path: Path) -> None:
    nodes.port = int(nodes.address.head.rpartition(":")[2])
    job = TrainingJob(tmp_path / "cluster", updates=24, pause_s=0.3)

    def disturb(executor: RayExecutor) -> None:
        await_updates(job, 8)
        nodes.kill("head")
        nodes.start("head")

    found, n_lost = on_cluster(nodes, job, 8, disturb)

    assert 1 <= n_lost <= 3
    require_sound(job, found, whole(tmp_path, 8, 24), n_lost)


def test_head_that_stays_away_ends_the_run_which_the_same_command_resumes(
    nodes: RayNodes, tmp_path: Path
) -> None:
    nodes.port = int(nodes.address.head.rpartition(":")[2])
    job = TrainingJob(tmp_path / "cluster", updates=24, pause_s=0.1)
    impatient = ClusterTimes(heartbeat_s=0.2, silence_s=20.0, start_s=120.0, head_s=3.0)

    def lose_head(executor: RayExecutor) -> None:
        await_updates(job, 8)
        nodes.kill("head")

    with pytest.raises(ConfigError, match="the head of the cluster must be there, was gone for 3"):
        on_cluster(nodes, job, 3, lose_head, impatient)
    nodes.start("head")

    found, _ = on_cluster(nodes, job, 3, lambda _: None)

    require_sound(job, found, whole(tmp_path, 3, 24), 3)


def test_node_with_other_code_is_refused_and_the_others_go_on(
    nodes: RayNodes, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(_SOURCES / "tradingbot", other / "tradingbot")
    with (other / "tradingbot" / "market" / "fills.py").open("a") as file:
        file.write("\n# another version\n")
    nodes.start("other", sources=other)
    job = TrainingJob(tmp_path / "cluster", updates=6)
    job.workspace.mkdir()
    told: list[str] = []

    with RayExecutor(partial(open_trainings, job), address=nodes.address, times=TIMES) as executor:
        items = training_items(4)
        outcomes = list(run_items(executor, items, lambda *report: told.append(report[2])))
        refused = list(executor.refused.values())

    assert {each.item.name: each.result() for each in outcomes} == whole(tmp_path, 4, 6)
    assert len(refused) == 1
    assert ": sources " in refused[0]
    assert f"refused: {refused[0]}" in told


def test_cluster_whose_nodes_all_have_other_code_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(_SOURCES / "tradingbot", other / "tradingbot")
    (other / "tradingbot" / "agents" / "new.py").write_text('"""New."""\n')
    (tmp_path / "ray").mkdir()
    with ray_nodes(tmp_path / "ray", sources=other) as nodes:
        job = TrainingJob(tmp_path / "cluster", updates=6)
        with pytest.raises(ConfigError, match="a node must have the code of the driver, was node"):
            on_cluster(nodes, job, 1, lambda _: None)


def test_storage_that_is_full_refuses_and_the_same_items_end_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk, outside = tmp_path / "disk", tmp_path / "outside"
    disk.mkdir()
    outside.mkdir()
    places = [str(_SOURCES.parent / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    command = [*apart, sys.executable, "-m", "fixtures.full_storage", str(disk), str(outside)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    seen = json.loads((outside / "seen.json").read_text())

    assert seen["failures"] == []
    assert seen["lost"] == 0  # a full disk is no fault of a worker
    assert seen["refusals"]
    assert all("full" in text for text in seen["refusals"]), seen["refusals"]
    assert seen["bits"] == whole(tmp_path, COUNT, UPDATES)
