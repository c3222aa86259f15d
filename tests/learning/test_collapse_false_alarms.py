"""Sound runs raise no alarm: five tasks, and more seeds among the slow tests. Synthetic markets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from fixtures.sabotage_runs import GUARDED, SOUND, alarms, found, watched_run
from fixtures.toy_tasks import SignalTask
from fixtures.trading_worlds import short_config, small_world
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.guards import AlarmLevel, FlightRecorder
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.learner import Experience, Update
from tradingbot.learning.task import Task

Selection = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]
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


def test_selling_what_is_not_held_is_nothing_to_do_in_the_real_task() -> None:
    """Long only, numbers that mostly say sell: the account is empty, and all is in order."""
    told = _recorded(_long_only_task(), _mostly_selling)

    idle = torch.stack([report.measures["rollout/idle_share"] for report in told])
    assert idle.mean() > 0.5  # the case is the one that used to be an alarm
    assert not found(told, "NOT_EXECUTED", AlarmLevel.INFO)


def test_account_that_cannot_trade_is_told_in_the_real_task() -> None:
    """The same selections, and nothing is ever done about them."""
    told = _recorded(_long_only_task(), _mostly_selling, paralysed=True)

    assert set(found(told, "NOT_EXECUTED")) == set(_long_only_task().agent_names)


def _long_only_task() -> PopulationTask:
    return PopulationTask(
        small_world(), short_config("continuous", episode_bars=48), n_envs=16, seed=3
    )


def _mostly_selling(shape: tuple[int, ...], draw: torch.Generator) -> torch.Tensor:
    """Numbers (S, N, B) that stay for a while: two thirds of the time low, else high."""
    steps, agents, envs = shape
    mood = torch.rand((-(-steps // 8), agents, envs), generator=draw).repeat_interleave(8, 0)
    level = torch.where(mood[:steps] < 0.67, -0.7, 0.7)
    return (level + 0.2 * torch.randn(shape, generator=draw)).clamp(-1.0, 1.0)


def _recorded(
    task: PopulationTask, select: Selection, *, paralysed: bool = False
) -> list[RecorderReport]:
    recorder = FlightRecorder(task, replace(GUARDED, warm_up_steps=0, warm_up_updates=0))
    draw, n_agents = torch.Generator().manual_seed(5), len(task.agent_names)
    state, _ = task.begin()
    told = []
    for number in range(1, 7):
        selected = select((64, n_agents, task.n_envs), draw)
        steps = []
        for action in selected:
            step = task.step(state, torch.zeros_like(action) if paralysed else action)
            state = step.state
            steps.append(step)
        made = Experience(
            selected=selected,
            executed=torch.stack([step.executed for step in steps]),
            traded=torch.stack([step.traded for step in steps]),
            reward=torch.stack([step.reward for step in steps]),
            terms=torch.stack([step.terms for step in steps]).sum(0),
        )
        update = Update({"policy/normalised_entropy": torch.full((n_agents,), 0.5)}, made)
        told.append(recorder.record(update, updates=number, steps=number * 64 * task.n_envs))
    return told
