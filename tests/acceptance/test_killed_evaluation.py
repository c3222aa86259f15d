"""An evaluation that is killed goes on where it was, to the same bytes; so it does with workers."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from fixtures.tiny_evaluation import make_run, tiny_evaluation, tiny_evaluation_arguments
from fixtures.warm_process import WarmProcess
from tradingbot.evaluation.pipeline.session import EvaluationRequest, evaluate_run
from tradingbot.runs.ledger import Ledger

ANALYSES = ("seeds",)
_PATIENCE_S = 300.0


def begin(workspace: Path, *more: str) -> WarmProcess:
    arguments = ["evaluate", "tiny", *tiny_evaluation_arguments(*ANALYSES), *more]
    command = ["--workspace", str(workspace), *arguments]
    return WarmProcess(command, environment={"OMP_NUM_THREADS": "1"})


def finish(workspace: Path) -> None:
    """Evaluate in this process, or what is left of it."""
    evaluate_run(EvaluationRequest("tiny", tiny_evaluation(*ANALYSES)), workspace, jobs=1)


def pieces_of(workspace: Path) -> Path:
    return workspace / "runs" / "tiny" / "evaluation" / "analyses"


def noted_in(folder: Path) -> list[Path]:
    """Return the analyses that the ledger knows; a kill may leave a file before its note."""
    known = {each.config_hash for each in Ledger(folder.parents[3]).entries()}
    files = folder.glob("*.json")
    return [path for path in files if hashlib.sha256(path.read_bytes()).hexdigest() in known]


def wait_for(folder: Path, count: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while len(noted_in(folder)) < count:
        assert time.monotonic() < until, "no analysis was made"
        time.sleep(0.02)


def contents(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(pieces_of(workspace).glob("*.json"))}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run that nobody has evaluated; to be copied."""
    workspace = tmp_path_factory.mktemp("trained")
    make_run(workspace)
    return workspace


@pytest.fixture(scope="module")
def whole(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The evaluation that was never killed, by one process."""
    workspace = Path(shutil.copytree(trained, tmp_path_factory.mktemp("once") / "whole"))
    finish(workspace)
    return workspace


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_killed_evaluation_is_finished_with_the_same_bytes(
    jobs: str, trained: Path, tmp_path: Path, whole: Path
) -> None:
    killed = Path(shutil.copytree(trained, tmp_path / "killed"))
    with begin(killed, "--jobs", jobs) as process:
        wait_for(pieces_of(killed), 2)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in noted_in(pieces_of(killed))}

    finish(killed)

    assert contents(killed) == contents(whole)
    selected = {path: path.stat().st_mtime_ns for path in done}
    assert selected == done
    assert not list(pieces_of(killed).glob(".tmp-*"))


def test_evaluation_survives_the_death_of_a_worker_with_the_same_bytes(
    trained: Path, tmp_path: Path, whole: Path
) -> None:
    workspace = Path(shutil.copytree(trained, tmp_path / "survivor"))
    with begin(workspace, "--jobs", "2") as process:
        wait_for(pieces_of(workspace), 1)  # both are at work
        killed = _workers(process.pid)[0]
        os.kill(killed, signal.SIGKILL)
        _, said = process.communicate(timeout=_PATIENCE_S)

    assert process.returncode == 0, said
    assert contents(workspace) == contents(whole)


@pytest.mark.slow
def test_interrupted_evaluation_leaves_with_130_and_no_worker(
    trained: Path, tmp_path: Path
) -> None:
    workspace = Path(shutil.copytree(trained, tmp_path / "interrupted"))
    with begin(workspace, "--jobs", "2") as process:
        wait_for(pieces_of(workspace), 1)
        workers = _workers(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=_PATIENCE_S)

    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("Interrupted; finished analyses are kept")
    assert "Traceback" not in said
    assert len(workers) == 2
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def _workers(process: int) -> list[int]:
    """Return the processes that make analyses; Python's own tracker of resources is none."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
