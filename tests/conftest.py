"""Fixtures shared by the whole suite."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from fixtures.call_trap import CALLED, called_by_processes, set_trap, trap_processes

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun

_PPO: dict[str, object] = {
    "learner__name": "ppo",
    "learner__ppo__rollout_steps": 8,
    "learner__ppo__minibatch": 8,
    "encoder__preset": "tiny",
    "encoder__pretrain": False,
    "validation__shrink": False,
}

pytest_plugins = ["fixtures.own_parts", "fixtures.short_work"]
set_trap()
gc.disable()  # until everything is collected: modules and tests are no garbage
# Processes that tests start, and the next session, need not compile the sources again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among the million objects that stay to the end.

    And seldom: at Python's own 700 new objects a twentieth of the suite is spent on looking.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Compute by one thread: tensors are small, workers fill the cores, and bits stay the same."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk() -> Iterator[None]:
    """Let `os.fsync` refuse what is not open, and not wait: no test cuts the power.

    Processes that a test starts wait as always.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda opened: os.fstat(opened) and None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _trapped_processes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set the trap for calls to other machines in every process that a test starts."""
    trap_processes(tmp_path_factory.mktemp("call_trap"))


@pytest.fixture(autouse=True)
def _nothing_calls_out(_trapped_processes: None) -> Iterator[None]:
    """Fail a test in which another machine was looked up or connected to."""
    yield
    called = {*CALLED, *called_by_processes()}
    CALLED.clear()
    assert not called, f"called: {', '.join(sorted(called))}"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with real bars beside the checkout; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real market data is not here ({folder})")
    return folder


@pytest.fixture(scope="session")
def evaluated_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished run named `tiny`; evaluations of it may add to it."""
    from fixtures.tiny_evaluation import make_run

    workspace = tmp_path_factory.mktemp("evaluated")
    make_run(workspace)
    return workspace


@pytest.fixture(scope="session")
def ppo_subject(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRun:
    """A run of PPO with critic, attention and deviations, whose agents all trade, open."""
    from fixtures.tiny_training import tiny_config
    from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
    from tradingbot.training.session import begin_run

    workspace = tmp_path_factory.mktemp("ppo")
    begin_run(tiny_config(**_PPO), workspace, name="ppo")
    return open_evaluated_run("ppo", workspace)
