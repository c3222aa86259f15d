"""Sound runs raise no alarm: five tasks, and more seeds among the slow tests. Synthetic markets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from fixtures.sabotage_runs import SOUND, alarms, watched_run
from fixtures.toy_tasks import SignalTask
from tradingbot.learning.task import Task

TASKS = ("numbers", "codes", "opposed", "noise", "numbers_without_edge")


def sound_task(name: str, seed: int) -> Task:
    """Build one of the tasks on which nothing is wrong."""
    if name == "numbers":
        return SignalTask(4, 8, seed=seed)
    if name == "codes":
        return SignalTask(4, 8, kind="discrete", seed=seed)
    if name == "opposed":
        return SignalTask(4, 8, opposed=True, cost=0.0, seed=seed)
    if name == "noise":
        return SignalTask(4, 8, kind="discrete", kappa=0.0, cost=0.2, seed=seed)
    return SignalTask(4, 8, kappa=0.0, cost=0.2, seed=seed)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for seed, name in enumerate(TASKS)])
def test_sound_run_raises_no_alarm_in_25_updates(name: str, seed: int) -> None:
    reports = watched_run(sound_task(name, seed), SOUND, 25, seed=seed)

    assert alarms(reports) == []
    assert all(report.healthy for report in reports)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("seed", [10, 11, 12])
def test_long_sound_run_is_never_critical(name: str, seed: int) -> None:
    reports = watched_run(sound_task(name, seed), SOUND, 100, seed=seed)

    assert [alarm for alarm in alarms(reports) if "critical" in alarm] == []
