"""A training whose learner is a worker of a cluster, as its actors are: the bits of one process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from fixtures.ray_nodes import RayNodes, ray_nodes
from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.times import ClusterTimes
from tradingbot.runs import RunDirectory
from tradingbot.runs.directory import LOCK_FILE
from tradingbot.training.config import TrainConfig
from tradingbot.training.session import RUNS_FOLDER, begin_run
from tradingbot.training.training_item import TrainingOrder, train_by_worker

TIMES = ClusterTimes(heartbeat_s=0.1, silence_s=60.0, start_s=180.0)
_KILLED_AT = 40
"""Steps: after the first checkpoint, and some updates after it."""


def impala_config(*, in_processes: bool) -> TrainConfig:
    """Twelve updates of four steps by two actors."""
    own = {"actor__hidden": [8], "critic__hidden": [8], "rollout_steps": 4, "minibatch": 8}
    own |= {"actors": 2, "in_processes": in_processes}
    named = {f"learner__impala__{key}": value for key, value in own.items()}
    return tiny_config(learner__name="impala", **named)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The bits of one process, actors included."""
    made = begin_run(impala_config(in_processes=False), tmp_path_factory.mktemp("here"), name="one")
    return fingerprint(made.run)


def train(
    nodes: RayNodes, workspace: Path, disturb: Callable[[int], None] = lambda _: None
) -> tuple[RunDirectory, list[str]]:
    """Train on the cluster while it is disturbed, once, at a step; return run and what was told."""
    told: list[str] = []

    def tell(done: int, total: int, label: str) -> None:
        if total and done >= _KILLED_AT and "killed" not in told:
            told.append("killed")
            disturb(learner_process(workspace))
        told.append(label)

    order = TrainingOrder("first", impala_config(in_processes=True), begins=True)
    start = partial(RayExecutor, address=nodes.address, times=TIMES)
    return train_by_worker(order, workspace, start, tell), told


def learner_process(workspace: Path) -> int:
    """Return who holds the run."""
    return int((workspace / RUNS_FOLDER / "first" / LOCK_FILE).read_text())


def test_learner_on_a_node_comes_to_the_bits_of_this_process(
    nodes: RayNodes, here: dict[str, object], tmp_path: Path
) -> None:
    learners: list[bool] = []

    run, told = train(nodes, tmp_path, lambda pid: learners.append(os.getsid(pid) in nodes.groups))

    assert fingerprint(run) == here
    assert learners == [True]
    assert "step" in told


@pytest.mark.slow
def test_learner_that_is_killed_on_its_node_is_gone_on_with_to_the_same_bits(
    nodes: RayNodes, here: dict[str, object], tmp_path: Path
) -> None:
    run, told = train(nodes, tmp_path, lambda learner: os.kill(learner, signal.SIGKILL))

    assert fingerprint(run) == here
    assert any(text.startswith("training first again: its process died") for text in told), told


@pytest.mark.slow
def test_learner_whose_head_is_lost_is_gone_on_with_to_the_same_bits(
    here: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "ray").mkdir()
    with ray_nodes(tmp_path / "ray", "second") as nodes:
        nodes.port = int(nodes.address.head.rpartition(":")[2])

        def lose_head() -> None:
            nodes.kill("head")
            nodes.start("head")

        losing = Thread(target=lose_head)
        try:
            run, _ = train(nodes, tmp_path, lambda _: losing.start())
        finally:
            losing.join()

    assert fingerprint(run) == here
    assert run.status().resumptions
