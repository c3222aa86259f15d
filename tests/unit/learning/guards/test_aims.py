"""Goals out of reach are told; goals that are reached are not. Learner and market are real."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.learning.guards import AlarmLevel, FlightRecorder, GuardConfig
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.market.goals import GoalSettings
from tradingbot.market.params import EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
CONFIG = SACConfig(
    actor=HEAD, critic=HEAD, warm_up=16, batch_size=8, steps_per_update=10, buffer_size=500
)


def watched(asked: tuple[float, float]) -> RecorderReport:
    world = synthetic_world("planted", n_symbols=2, n_bars=400, seed=1)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=10))
    own = PopulationTask(world, EnvConfig(rules=rules), n_envs=4, seed=1)
    settings = replace(GoalSettings(), return_range_frac=asked, drawdown_range_frac=(1.0, 1.0))
    task = GoalTask(own, settings)
    learner = SAC(task, TableView(task.table), CONFIG, seed=1)
    guards = GuardConfig(warm_up_steps=0, warm_up_updates=0, probe_every=0)
    recorder = FlightRecorder(task, guards)
    reports = [recorder.watch(learner, learner.update()) for _ in range(11)]
    return reports[-1]


@pytest.mark.parametrize(("asked", "is_told"), [((0.5, 0.6), True), ((-0.9, 0.1), False)])
def test_goals_out_of_reach_are_told_with_a_remedy(
    asked: tuple[float, float], is_told: bool
) -> None:
    found = [each for each in watched(asked).verdicts if each.code == "GOALS_MISSED"]

    assert bool(found) is is_told
    if is_told:
        assert {each.severity for each in found} == {AlarmLevel.WARNING}
        assert "0 % of its episodes end at their goal" in found[0].words
        assert "hindsight.strategy: future" in found[0].remedy
