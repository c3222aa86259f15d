"""Allocation rules by hand, on past bars alone, through the portfolio backtester."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.envs.portfolio.sleeve_market import SleeveMarket, plant_sleeves
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.allocation import rules
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES, KnownSleeves
from tradingbot.evaluation.allocation.schedule import (
    EVERY_BARS,
    backtest_allocations,
    schedule_rule,
)
from tradingbot.evaluation.allocation.simplex import best_weights, project_on_simplex, with_cash
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits

BARS = 600
RULES = SimulatorParams(
    account=AccountRules(portfolio_loss_frac=1.0),
    limits=RiskLimits(max_position_frac=1.0),
    episode=EpisodeRules(episode_bars=32, window_bars=1),
)


def known(deviations=(0.01, 0.02), means=(0.0, 0.0), correlation=0.0) -> KnownSleeves:
    draws = np.random.default_rng(1).standard_normal((4_000, len(deviations)))
    draws = (draws - draws.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(draws.T))).T
    matrix = np.full((len(deviations),) * 2, correlation)
    np.fill_diagonal(matrix, 1.0)
    returns = draws @ np.linalg.cholesky(matrix).T * deviations + np.array(means)
    return KnownSleeves(returns, np.array([0.2, 0.6]), aversion=1.0)


def test_each_rule_is_what_it_says() -> None:
    assert rules.equal_weight(known()).tolist() == [0.5, 0.5, 0.0]
    assert rules.inverse_volatility(known()) == pytest.approx([2 / 3, 1 / 3, 0.0], abs=1e-6)
    assert rules.minimum_variance(known()) == pytest.approx([0.8, 0.2, 0.0], abs=1e-3)
    assert rules.confidence_weighted(known()) == pytest.approx([0.25, 0.75, 0.0])
    assert rules.best_single(known(means=(0.001, 0.01))).tolist() == [0.0, 1.0, 0.0]
    # 0.4 of its deviation against 0.3, though the second has the higher mean.
    assert rules.best_single(known(means=(0.004, 0.006))).tolist() == [1.0, 0.0, 0.0]
    assert rules.all_cash(known()).tolist() == [0.0, 0.0, 1.0]
    wanted = replace_aversion(known(means=(0.001, 0.0)), 50.0)
    # μ ÷ (γ σ²) of the first, nothing of the second, cash for the rest.
    assert rules.mean_variance(wanted) == pytest.approx([0.2, 0.0, 0.8], abs=1e-3)
    assert rules.confidence_weighted(known()._replace(confidence=np.zeros(2)))[-1] == 1.0


def replace_aversion(given: KnownSleeves, aversion: float) -> KnownSleeves:
    return given._replace(aversion=aversion)


def test_covariance_takes_a_tenth_from_its_diagonal() -> None:
    found = known(correlation=0.5).covariance
    assert np.diag(found) == pytest.approx([1e-4, 4e-4], rel=1e-6)
    assert found[0, 1] == pytest.approx(0.9 * 0.5 * 0.01 * 0.02, rel=1e-6)


def test_hierarchical_risk_parity_of_two_is_inverse_variance() -> None:
    pytest.importorskip("skfolio")
    assert rules.hierarchical_risk_parity(known()) == pytest.approx([0.8, 0.2, 0.0], abs=0.01)


def test_best_weights_are_better_than_any_other() -> None:
    draws = np.random.default_rng(2)
    factor = draws.standard_normal((5, 5))
    mean, covariance = with_cash(0.1 * draws.standard_normal(5), factor @ factor.T)
    best = best_weights(mean, covariance, 3.0)

    def worth(weights: np.ndarray) -> float:
        return float(weights @ mean - 1.5 * weights @ covariance @ weights)

    assert best.sum() == pytest.approx(1.0)
    assert (best >= 0.0).all()
    others = draws.dirichlet(np.ones(6), 2_000)
    assert worth(best) >= max(map(worth, others)) - 1e-12
    near = [project_on_simplex(best + 1e-3 * draws.standard_normal(6)) for _ in range(500)]
    assert worth(best) >= max(map(worth, near)) - 1e-10


@pytest.mark.parametrize("name", [name for name in ALLOCATION_RULES if "hierarchical" not in name])
def test_rules_look_at_past_bars_alone(name: str) -> None:
    book = plant_sleeves(SleeveMarket(n_bars=BARS, n_sleeves=3), 1).book
    cut = 100 + 4 * EVERY_BARS
    value, members = book.value.copy(), book.members.clone()
    value[cut + 1 :] *= np.linspace(3.0, 9.0, BARS - cut - 1)[:, None]  # from the next bar on
    members[cut + 1 :] = 0.0
    changed = replace(book, value=value, members=members)

    one, two = (
        schedule_rule(ALLOCATION_RULES[name], each, 100, BARS - 1, aversion=2.0).weights
        for each in (book, changed)
    )
    assert bool((one[: cut + EVERY_BARS] == two[: cut + EVERY_BARS]).all())
    assert one.sum(-1).numpy() == pytest.approx(np.ones(BARS))


def test_all_rules_are_played_with_the_masters_costs() -> None:
    book = plant_sleeves(SleeveMarket(n_bars=BARS, n_sleeves=3), 1).book
    task = PortfolioTask(book, PortfolioTerms(RULES), n_envs=2, seed=0)
    played = backtest_allocations(task, IndexRange(200, 260), bars_per_year=1_764.0)

    names = [each.policy for each in played]
    assert [name for name in names if "hierarchical" not in name] == [
        *("equal weight", "inverse volatility", "minimum variance", "mean-variance"),
        *("confidence-weighted", "best single agent"),
    ]
    even = played[0]
    assert even.turnover_frac[0, 0] == pytest.approx(1.0, abs=1e-3)
    assert even.cost_frac[0, 0] == pytest.approx(1.2e-4, rel=1e-2)
    assert {each.n_bars for each in played} == {59}


def test_rules_wait_as_long_as_they_are_told_to() -> None:
    book = plant_sleeves(SleeveMarket(n_bars=BARS, n_sleeves=3), 1).book
    task = PortfolioTask(book, PortfolioTerms(RULES), n_envs=2, seed=0)
    (even,) = backtest_allocations(
        task, IndexRange(200, 220), bars_per_year=1_764.0, names=["equal weight"], delay_bars=2
    )

    assert even.delay_bars == 2
    assert even.turnover_frac[:2, 0].tolist() == [0.0, 0.0]
    assert even.turnover_frac[2, 0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("names", [None, ["mean-variance"]])
def test_rules_dislike_variance_as_much_as_the_task_does(names: list[str] | None) -> None:
    book = plant_sleeves(SleeveMarket(n_bars=BARS, n_sleeves=3), 1).book
    task = PortfolioTask(book, PortfolioTerms(RULES, risk_aversion=40.0), n_envs=2, seed=0)
    played = backtest_allocations(task, IndexRange(200, 260), bars_per_year=1_764.0, names=names)

    found = next(each for each in played if each.policy == "mean-variance")
    wanted, bolder = (
        schedule_rule(ALLOCATION_RULES["mean-variance"], book, 200, 259, aversion=aversion)
        .weights[200:259]
        .numpy()
        for aversion in (41.0, 1.0)
    )
    assert found.weights == pytest.approx(wanted, abs=1e-12)
    assert np.abs(wanted - bolder).max() > 0.1
