"""Sleeves with a known best allocation: what was planted is there, and the oracle finds it."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.portfolio.sleeve_market import SleeveMarket, plant_sleeves
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.allocation.known_answers import (
    ORACLE,
    measure_allocations,
    oracle_schedule,
    oracle_share,
)
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES
from tradingbot.evaluation.allocation.schedule import backtest_allocations, schedule_rule
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits

RULES = SimulatorParams(
    account=AccountRules(portfolio_loss_frac=1.0),
    limits=RiskLimits(max_position_frac=1.0),
    episode=EpisodeRules(episode_bars=32, window_bars=1),
)


@pytest.mark.parametrize("kind", ["steady", "changing", "dying", "worthless"])
def test_planted_drifts_and_correlations_are_in_the_returns(kind: str) -> None:
    made = plant_sleeves(SleeveMarket(kind=kind, n_bars=20_000, n_sleeves=4), 3)
    returns = made.book.rows[:, 1].numpy()
    surprise = (returns - made.drift) / made.deviation

    assert made.book.synthetic
    assert "synthetic" in made.book.label
    assert surprise.mean(0) == pytest.approx(np.zeros(4), abs=0.03)
    assert surprise.std(0) == pytest.approx(np.ones(4), abs=0.03)
    for level in np.unique(made.correlation):
        found = np.corrcoef(surprise[made.correlation == level].T)[np.triu_indices(4, 1)]
        assert found == pytest.approx(np.full(6, level), abs=0.05)
    assert np.array_equal(plant_sleeves(made.market, 3).drift, made.drift)
    assert not np.array_equal(plant_sleeves(made.market, 4).drift, made.drift)


def test_a_sleeve_that_dies_turns_bad_while_its_agent_stays_confident() -> None:
    made = plant_sleeves(SleeveMarket(kind="dying", n_bars=8_000), 1)
    for bar, sleeve in made.dies_at:
        assert made.drift[bar - 1, sleeve] > 0.0 > made.drift[bar, sleeve]
        confidence = made.book.column("confidence")[:, sleeve]
        assert float(confidence[bar : bar + 500].mean()) > 0.6
        assert oracle_schedule(made, 41.0).weights[bar, sleeve] == 0.0


def test_worthless_sleeves_leave_the_oracle_in_cash() -> None:
    made = plant_sleeves(SleeveMarket(kind="worthless", n_bars=400), 1)
    assert oracle_schedule(made, 1.0).weights[:, -1].tolist() == pytest.approx([1.0] * 400)


def test_oracle_is_worth_more_than_every_rule_and_shares_are_of_its_gain() -> None:
    made = plant_sleeves(SleeveMarket(n_bars=1_500, n_sleeves=4), 2)
    task = PortfolioTask(made.book, PortfolioTerms(RULES, risk_aversion=40.0), n_envs=1, seed=0)
    bars = IndexRange(600, 900)
    policies = {
        name: schedule_rule(ALLOCATION_RULES[name], made.book, 600, 899, aversion=41.0)
        for name in ("inverse volatility", "mean-variance", "all cash")
    }
    worth = measure_allocations(made, task, bars, policies)

    assert max(worth, key=lambda name: worth[name].expected_bp) == ORACLE
    assert oracle_share(worth, ORACLE) == 1.0
    assert oracle_share(worth, "equal weight") == 0.0
    assert worth["all cash"].expected_bp == 0.0
    assert worth["all cash"].cash_frac == 1.0
    assert 0.0 < oracle_share(worth, "all cash") < 1.0


def test_worth_in_expectation_is_net_of_the_costs_that_were_paid() -> None:
    made = plant_sleeves(SleeveMarket(n_bars=700, n_sleeves=3), 2)
    bars = IndexRange(600, 650)
    dear, free = CostProfile(commission_frac=0.001), CostProfile(0.0, 0.0)
    tasks = [
        PortfolioTask(made.book, PortfolioTerms(RULES, costs), n_envs=1, seed=0)
        for costs in (dear, free)
    ]
    paid, spared = (measure_allocations(made, task, bars, {}) for task in tasks)
    (even,) = backtest_allocations(tasks[0], bars, bars_per_year=1.0, names=["equal weight"])

    cost_bp = 1e4 * even.cost_frac.mean()  # the weights follow from the book, whatever they cost
    assert cost_bp > 0.1
    less = spared["equal weight"].expected_bp - paid["equal weight"].expected_bp
    assert less == pytest.approx(cost_bp, rel=1e-6)


def test_best_sharpe_below_the_worst_is_refused() -> None:
    with pytest.raises(ConfigError, match="worst_sharpe must not be the higher"):
        SleeveMarket(best_sharpe=0.1, worst_sharpe=0.2)
