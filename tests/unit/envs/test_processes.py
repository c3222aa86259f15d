"""Environments across processes: the same numbers in each, and steps that hang, raise or die."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from fixtures.played_episodes import Episode, open_episodes, trajectory_sha256
from fixtures.trading_worlds import short_config, small_world
from tradingbot.envs.single.env import TradingEnv
from tradingbot.executors.executor import Outcome, WorkItem, ignore_progress
from tradingbot.executors.processes import ProcessExecutor, WorkerTimes

TESTS = Path(__file__).resolve().parents[2]


def test_E09_same_seed_in_other_processes_is_the_same_trajectory() -> None:
    own = trajectory_sha256(TradingEnv(small_world(), short_config()), 11)
    found = []
    for hashing in ("1", "2"):  # sets and dicts of texts are in another order in each
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]),
            "PYTHONHASHSEED": hashing,
        }
        command = [sys.executable, "-m", "fixtures.played_episodes"]
        told = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        found.append(told.stdout.strip())

    assert found == [own, own]
    assert trajectory_sha256(TradingEnv(small_world(), short_config()), 12) != own


@pytest.mark.parametrize(
    ("breaks", "said", "n_built"),
    [
        ("hang", "hang must be done in 2 s", 2),
        ("raise", "FloatingPointError: a step that broke", 1),
        ("die", "its process ended with code 9; again: its process ended with code 9", 3),
    ],
)
def test_E12_step_that_breaks_in_a_worker_costs_its_episode_alone(
    tmp_path: Path, breaks: str, said: str, n_built: int
) -> None:
    times = WorkerTimes(heartbeat_s=0.1, silence_s=60.0)
    told: dict[str, Outcome] = {}
    with ProcessExecutor(partial(open_episodes, tmp_path), 1, times=times) as executor:
        executor.submit(WorkItem("before", Episode(11)))
        told["before"] = executor.wait(ignore_progress)  # the worker is up: limits are of steps
        limit_s = 2.0 if breaks == "hang" else None
        executor.submit(WorkItem(breaks, Episode(12, breaks), limit_s))
        executor.submit(WorkItem("after", Episode(11)))
        for _ in range(2):
            outcome = executor.wait(ignore_progress)
            told[outcome.item.name] = outcome

    assert said in str(told[breaks].error)
    assert told["after"].error is None
    assert told["after"].value == told["before"].value  # nothing of the broken one is in it
    assert sum(outcome.error is not None for outcome in told.values()) == 1
    assert len(list(tmp_path.iterdir())) == n_built
