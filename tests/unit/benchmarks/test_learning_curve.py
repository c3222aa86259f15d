"""Runs on markets with known answers: parts do not overlap, oracles trade, seeds are summarised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.envs.world import cut_world
from tradingbot.evaluation.backtest.baselines import TargetTable
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.learning.shrinkage import ShrinkageConfig
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.curve.markets import (
    QUESTIONS,
    WARM_UP_BARS,
    Periods,
    generate_problem,
    with_estimated_strengths,
)
from tradingbot_benchmarks.learning.curve.measure import (
    LearningResult,
    LearningRun,
    mean_return_bp,
    run_learning,
    summarise,
)
from tradingbot_benchmarks.learning.curve.settings import learner_settings, measured_learners

PERIODS = Periods(train_bars=660, test_bars=60)
RUN = LearningRun(n_agents=2, periods=PERIODS, updates=1, shrinkage=ShrinkageConfig(block_bars=8))


def test_parts_follow_each_other_and_fill_all_bars() -> None:
    for periods in (Periods(), PERIODS):
        train, validation, test = periods.train, periods.validation, periods.test
        assert train.start == WARM_UP_BARS
        assert (train.stop, validation.stop) == (validation.start, test.start)
        assert test.stop == periods.n_bars
        assert len(train) + len(validation) == periods.train_bars
        assert len(validation) == pytest.approx(0.15 * periods.train_bars, abs=1)


def test_empirical_bayes_sees_training_bars_alone_and_shrinks_towards_the_mean() -> None:
    params = {"kappa": 0.1, "kappa_spread": 0.1}
    market = synthetic_market("planted", n_symbols=60, n_bars=1_500, seed=3, params=params)
    train = IndexRange(200, 1_200)
    later = replace(market, closes=np.vstack([market.closes[:1_200], 2.0 * market.closes[1_200:]]))

    found, other = (with_estimated_strengths(each, train) for each in (market, later))

    estimated, kappa = found.latent["kappa"], market.latent["kappa"]
    assert np.array_equal(estimated, other.latent["kappa"])
    assert np.corrcoef(estimated, kappa)[0, 1] > 0.9
    assert estimated.mean() == pytest.approx(kappa.mean(), abs=0.015)
    assert np.abs(estimated - kappa).mean() < 1.0 / np.sqrt(1_000)  # below the error of a slope


def test_oracle_of_a_posed_market_earns_what_its_rollout_earns() -> None:
    posed = generate_problem("planted_0.10", n_agents=2, seed=1, cost_frac=1.2e-4, periods=PERIODS)
    result = run_learning("planted_0.10", "direct", 1, RUN)
    first = PERIODS.test.start - 1
    tested = cut_world(posed.world, first, PERIODS.n_bars - 1)
    targets = posed.oracle.view(2, -1)[:, first:].reshape(-1)
    rolled = roll_out(tested, sleeve_config(), {"oracle": TargetTable(targets)})
    returns = rolled.equity[1:, 0] / rolled.equity[:-1, 0] - 1.0
    assert result.oracle_bp == pytest.approx(1e4 * returns.mean(), rel=1e-3)
    assert result.oracle_bp != 0.0


def test_seed_decides_the_result_and_validation_that_shows_nothing_leaves_everybody_out() -> None:
    learned = replace(RUN, shrinkage=None)
    one, other = (run_learning("noise", "direct", seed, learned) for seed in (0, 1))
    told = []
    strict = replace(RUN, shrinkage=ShrinkageConfig(confidence=1e6, block_bars=8))
    kept = run_learning("noise", "direct", 0, strict, lambda *done: told.append(done))
    assert one.policy_bp != other.policy_bp
    assert one.value == one.policy_bp
    assert one.oracle_bp == 0.0
    assert (kept.policy_bp, kept.trading_frac) == (0.0, 0.0)
    assert "stay out" in kept.decision
    assert told == [(1, 1)]
    assert one.policy_bp == run_learning("noise", "direct", 0, learned).policy_bp


def test_bars_of_the_test_part_change_nothing_that_was_learned() -> None:
    """Train on a world and on one whose test bars are others; every weight must be the same."""
    posed = generate_problem("planted_0.10", n_agents=2, seed=0, cost_frac=1.2e-4, periods=PERIODS)
    world = posed.world
    prices, features = world.prices.copy(), world.features.copy()
    prices[:, PERIODS.test.start :] *= 1.5
    features[:, PERIODS.test.start :] *= -1.0
    weights = []
    for changed in (world, replace(world, prices=prices, features=features)):
        settings = learner_settings("direct")
        task = PopulationTask(changed, sleeve_config(), n_envs=2, seed=0)
        task = task.during(PERIODS.train.start, PERIODS.train.stop - 1).showing("size")
        learner = settings.build(task, TableView(task.table), 0)
        learner.update()
        weights.append(learner.state())
    for name, value in weights[0].items():
        assert torch.equal(value, weights[1][name]), name


@pytest.mark.parametrize("learner", sorted(set(measured_learners()) - {"direct"}))
def test_every_learner_runs_on_a_small_market(learner: str) -> None:
    result = run_learning("opposed_0.10", learner, 0, RUN)
    assert np.isfinite(result.value)
    assert result.seconds > 0.0


def result(value: float, seed: int = 0) -> LearningResult:
    return LearningResult("noise", "direct", seed, value, 0.0, 1.0, "", 1.0)


def test_summary_is_the_mean_of_the_middle_half_with_an_interval() -> None:
    found = summarise([result(v) for v in (0.0, 1.0, 2.0, 3.0, 100.0)])
    assert found.estimate == pytest.approx(2.0)
    assert found.low < 2.0 < found.high
    assert summarise([result(1.0), result(2.0)]).estimate == 1.5
    assert summarise([result(1.0)] * 5) == (1.0, 1.0, 1.0)


def test_value_is_the_share_of_the_oracle_where_there_is_one() -> None:
    assert replace(result(1.0), oracle_bp=2.0).value == 0.5
    assert result(-0.3).value == -0.3


def test_flat_policy_returns_nothing() -> None:
    posed = generate_problem("noise", n_agents=2, seed=0, cost_frac=1.2e-4, periods=PERIODS)
    task = PopulationTask(posed.world, sleeve_config(), n_envs=1, seed=0)
    assert mean_return_bp(task, lambda seen: torch.zeros(2, 1)) == 0.0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"market must be a known one.*planted_0.10"):
        run_learning("planted_0.1", "direct", 0, RUN)
    with pytest.raises(ConfigError, match=r"learner must be a known one.*direct"):
        run_learning("noise", "dirct", 0, RUN)
    assert {question.kind for question in QUESTIONS.values()} >= {"planted", "opposed", "noise"}
