"""Populations, actors and curricula that stand still are told. Learners and markets are real."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.toy_tasks import SignalTask
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.curriculum.task import CurriculumTask
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.es.learner import ES
from tradingbot.learning.guards import Diagnosis, FlightRecorder, GuardConfig
from tradingbot.learning.guards.detector import AlarmLevel
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.impala.learner import IMPALA
from tradingbot.learning.learner import Learner
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.curriculum.stages import STAGES
from tradingbot.market.params import EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
GUARDS = GuardConfig(warm_up_steps=0, warm_up_updates=0, probe_every=0, stuck_episodes=20)


def told(learner: Learner, code: str, updates: int = 4) -> list[Diagnosis]:
    recorder = FlightRecorder(learner.task, GUARDS)
    reports = [recorder.watch(learner, learner.update()) for _ in range(updates)]
    return [each for each in reports[-1].verdicts if each.code == code]


@pytest.mark.parametrize("population", [2, 8, 64, 256])
@pytest.mark.parametrize(("sigma", "is_told"), [(1e-12, True), (0.1, False)])
def test_population_whose_members_are_all_alike_is_told(
    sigma: float, is_told: bool, population: int
) -> None:
    task = SignalTask(2, 4)
    config = ESConfig(actor=HEAD, population=population, bars=8, sigma=sigma)

    found = told(ES(task, TableView(task.table), config, seed=1), "POPULATION_COLLAPSED")

    assert bool(found) is is_told
    if is_told:
        assert {each.severity for each in found} == {AlarmLevel.CRITICAL}
        assert "all members of its population come to one result" in found[0].words
        assert "learner.es.sigma" in found[0].remedy


@pytest.mark.parametrize(("behind", "is_told"), [(20, True), (0, False)])
def test_actors_that_collect_with_old_weights_are_told(behind: int, is_told: bool) -> None:
    task = SignalTask(2, 4)
    config = IMPALAConfig(
        actor=HEAD, critic=HEAD, actors=2, in_processes=False, rollout_steps=8, minibatch=16
    )

    class Behind(IMPALA):
        """Its actors are given weights that were stored long ago."""

        def _go_on(self, made: list) -> None:  # type: ignore[type-arg]
            super()._go_on(made)
            self._orders._versions -= behind

    found = told(Behind(task, TableView(task.table), config, seed=1), "ACTORS_LAG")

    assert bool(found) is is_told
    if is_told:
        assert "21 updates before" in found[0].words
        assert "asynchronous: false" in found[0].remedy


@pytest.mark.parametrize(("min_sharpe", "is_told"), [(1e6, True), (-1e6, False)])
def test_stage_that_is_never_passed_is_told(min_sharpe: float, is_told: bool) -> None:
    world = synthetic_world("planted", n_symbols=2, n_bars=400, seed=1)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=6))
    own = PopulationTask(world, EnvConfig(rules=rules), n_envs=4, seed=1)
    stage = replace(STAGES[0], min_sharpe=min_sharpe, min_trades=0, min_win_rate_frac=0.0)
    settings = CurriculumSettings(stages=(stage,), markets_per_stage=1)
    settings = replace(settings, rule=replace(settings.rule, min_episodes=10))
    task = CurriculumTask(own, settings)
    config = ESConfig(actor=HEAD, population=4, bars=12)

    found = told(ES(task, TableView(task.table), config, seed=1), "CURRICULUM_STUCK", 7)

    assert bool(found) is is_told
    if is_told:
        assert "curriculum.adaptive: true" in found[0].remedy
