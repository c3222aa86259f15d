"""The executor of a cluster, on real nodes: outcomes, and workers that die, stop or take too long.

One cluster of two nodes serves all tests of the folder: starting one takes seconds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fixtures.cluster_work import open_work
from fixtures.ray_nodes import RayNodes, commands_of
from tradingbot.cluster.code_version import code_version, files_sha256
from tradingbot.cluster.connection import ClusterAddress, connect
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.times import ClusterTimes
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.executors.executor import WorkItem, ignore_progress, run_items
from tradingbot_benchmarks.cluster.trainings import (
    SAVE_EVERY,
    TrainingJob,
    open_trainings,
    repeated_updates,
    training_items,
)

FAST = ClusterTimes(heartbeat_s=0.1, silence_s=2.0, start_s=60.0, most_losses=1)
PACKAGE = Path(__file__).resolve().parents[3] / "src" / "tradingbot"
_PATIENCE_S = 60.0


@pytest.fixture
def executor(nodes: RayNodes, tmp_path: Path) -> Iterator[RayExecutor]:
    with RayExecutor(partial(open_work, tmp_path), address=nodes.address, times=FAST) as found:
        yield found


def test_items_are_done_and_work_is_opened_once_per_worker(
    executor: RayExecutor, tmp_path: Path
) -> None:
    items = [WorkItem(f"square {n}", ("square", n)) for n in range(20)]

    outcomes = list(run_items(executor, items))

    squares = {f"square {n}": n * n for n in range(20)}
    assert {each.item.name: each.result() for each in outcomes} == squares
    assert 1 <= len(list(tmp_path.glob("opened-*"))) <= 2
    assert (executor.n_lost, executor.refused) == (0, {})
    with pytest.raises(RuntimeError, match="no item is unfinished"):
        executor.wait(ignore_progress)


def test_workers_of_a_node_read_one_copy_of_a_file(
    executor: RayExecutor, nodes: RayNodes, tmp_path: Path
) -> None:
    panel = tmp_path / "panel"
    panel.write_bytes(b"numbers")
    told = (str(panel), hashlib.sha256(b"numbers").hexdigest())

    outcomes = list(run_items(executor, [WorkItem(f"{n}", ("copy", told)) for n in range(6)]))

    places = {each.result() for each in outcomes}
    assert len(places) == 1
    assert places.pop()[0] == str(nodes.folder / "copies" / told[1])


def test_refusals_and_failures_are_outcomes_and_end_nothing(executor: RayExecutor) -> None:
    items = [WorkItem("bars", ("refuse", None)), WorkItem("sum", ("fail", None))]
    items.append(WorkItem("square", ("square", 3)))

    found = {each.item.name: each for each in run_items(executor, items)}

    with pytest.raises(UserError, match=r"bars must be there, was none. Give some"):
        found["bars"].result()
    with pytest.raises(RuntimeError, match=r"sum: [\s\S]*ZeroDivisionError: of the test"):
        found["sum"].result()
    assert found["square"].result() == 9


def test_item_whose_worker_is_killed_is_done_again_by_another(
    executor: RayExecutor, tmp_path: Path
) -> None:
    told: list[str] = []
    executor.submit(WorkItem("fragile", ("kill", 1)))

    outcome = executor.wait(lambda *report: told.append(report[2]))

    assert outcome.result() != int((tmp_path / "hurt-0").read_text())
    assert executor.n_lost == 1
    assert any(text.startswith("fragile again: its process died") for text in told), told


@pytest.mark.slow
def test_training_whose_worker_is_killed_is_resumed_to_the_same_bits(
    nodes: RayNodes, tmp_path: Path
) -> None:
    job = TrainingJob(tmp_path / "cluster", updates=8, dies_at=5)
    job.workspace.mkdir()

    with RayExecutor(partial(open_trainings, job), address=nodes.address, times=FAST) as executor:
        (outcome,) = run_items(executor, training_items(1))
        n_lost = executor.n_lost

    whole = open_trainings(TrainingJob(tmp_path / "whole", updates=8))
    assert outcome.result() == whole(0, ignore_progress)
    assert n_lost == 1
    assert 1 <= repeated_updates(job.workspace)["seed-0"] <= SAVE_EVERY


def test_item_whose_workers_are_killed_too_often_is_reported_with_every_cause(
    executor: RayExecutor,
) -> None:
    executor.submit(WorkItem("doomed", ("kill", 2)))

    outcome = executor.wait(ignore_progress)

    with pytest.raises(UserError, match="doomed must be done to its end") as raised:
        outcome.result()
    assert str(raised.value).count("its process died") == 2
    assert executor.n_lost == 2


def test_straggler_that_gives_no_sign_of_life_is_replaced_and_its_process_ended(
    executor: RayExecutor, tmp_path: Path
) -> None:
    executor.submit(WorkItem("stopped", ("stop", 1)))

    outcome = executor.wait(ignore_progress)

    stopped = int((tmp_path / "hurt-0").read_text())
    assert outcome.result() != stopped
    assert executor.n_lost == 1
    await_condition(lambda: not Path(f"/proc/{stopped}").exists())


def test_item_that_takes_too_long_or_is_cancelled_ends_with_its_worker(
    executor: RayExecutor, tmp_path: Path
) -> None:
    executor.submit(WorkItem("slow", ("sleep", _PATIENCE_S), timeout_s=0.5))
    with pytest.raises(UserError, match=r"slow must be done in 0.5 s"):
        executor.wait(ignore_progress).result()
    assert (tmp_path / "asleep").exists()

    executor.submit(WorkItem("unwanted", ("sleep", _PATIENCE_S)))
    assert executor.cancel("unwanted")
    assert not executor.cancel("unknown")
    with pytest.raises(UserError, match="unwanted must not be cancelled"):
        executor.wait(ignore_progress).result()

    executor.submit(WorkItem("next", ("square", 2)))
    assert executor.wait(ignore_progress).result() == 4
    assert executor.n_lost == 0


def test_cluster_whose_cpus_are_taken_by_others_is_told_and_refused(
    nodes: RayNodes, tmp_path: Path
) -> None:
    told: list[str] = []
    short = replace(FAST, start_s=6.0)
    with RayExecutor(partial(open_work, tmp_path), address=nodes.address, times=FAST) as others:
        await_condition(lambda: _all_greeted(others))
        with RayExecutor(
            partial(open_work, tmp_path), address=nodes.address, times=short
        ) as executor:
            executor.submit(WorkItem("late", ("square", 2)))
            with pytest.raises(ConfigError, match="a cluster must have a node with a free CPU"):
                executor.wait(lambda *report: told.append(report[2]))

    assert any("waiting for a free CPU" in text for text in told), told


@pytest.mark.slow  # starts a node; beside test_code_version
def test_node_whose_preset_differs_is_refused_and_the_others_go_on(
    nodes: RayNodes, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "tradingbot"
    shutil.copytree(PACKAGE, other, ignore=shutil.ignore_patterns("__pycache__"))
    preset = other / "configuration" / "presets" / "gates" / "product.yaml"
    preset.write_text(preset.read_text(encoding="utf-8") + "# another word\n", encoding="utf-8")
    nodes.start("other", sources=other.parent)
    try:
        with RayExecutor(
            partial(open_work, tmp_path), address=nodes.address, times=FAST
        ) as executor:
            await_condition(lambda: _all_greeted(executor) and bool(executor.refused))
            executor.submit(WorkItem("square", ("square", 3)))
            assert executor.wait(ignore_progress).result() == 9
            refused = list(executor.refused.values())
    finally:
        nodes.kill("other")

    ours = code_version().sources_sha256
    assert [text.partition(": ")[2] for text in refused] == [
        f"sources {files_sha256(other)}, not {ours}"
    ]


def test_driver_without_the_token_is_refused(nodes: RayNodes, tmp_path: Path) -> None:
    other = tmp_path / "token"
    other.write_text("0" * 64)

    with pytest.raises(ConfigError, match="a cluster must answer and take the token"):
        connect(ClusterAddress(nodes.address.head, other))
    with pytest.raises(ConfigError, match="the token of the cluster must be a file, was none"):
        connect(ClusterAddress(nodes.address.head, tmp_path / "none"))


def test_cluster_has_no_dashboard_and_no_client_server(nodes: RayNodes) -> None:
    host = nodes.address.head.rpartition(":")[0]
    for port in (8265, 10001):  # where Ray opens them by default
        for place in (host, "127.0.0.1"):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((place, port), timeout=2)
    commands = [command for group in nodes.groups for command in commands_of(group)]
    assert any(b"gcs_server" in each for each in commands)
    assert not any(b"dashboard.py" in each or b"monitor.py" in each for each in commands)


def _all_greeted(executor: RayExecutor) -> bool:
    executor._listen(ignore_progress)
    return all(worker.greeting is not None for worker in executor.workers)


def await_condition(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        os.sched_yield()
        time.sleep(0.02)
