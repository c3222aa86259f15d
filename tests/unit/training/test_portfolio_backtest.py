"""A portfolio as the backtester records it, against backtests of its sleeves and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import small_world
from tradingbot.data.factor import bar_returns
from tradingbot.data.splits import IndexRange
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.backtest import Backtest, backtest, baseline, sleeve_config
from tradingbot.evaluation.backtest.backtests import as_one_episode
from tradingbot.evaluation.backtest.result import AccountTotals
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.learning.task import Observation
from tradingbot.training.environment_task import sleeve_decision
from tradingbot.training.portfolio_backtest import backtest_portfolio, pool_accounts

FIRST, LAST, SWITCH = 250, 280, 15
CONFIG = as_one_episode(sleeve_config(max_participation_frac=1.0), LAST - FIRST)


def sleeves_by(rule: str) -> Backtest:
    world, bars = small_world(), IndexRange(FIRST, LAST + 1)
    policy = baseline(rule, world)
    return backtest(world, CONFIG, policy, name=rule, bars=bars, bars_per_year=1_764.0)


def portfolio_by(rule: str, *sleeves: int) -> Backtest:
    """Give all capital to one sleeve, bar by bar."""
    world, bar = small_world(), iter(sleeves)
    decide = sleeve_decision(rule, world, seed=0)
    task = PortfolioTask(world, CONFIG, decide, n_envs=1, seed=0).backtest(FIRST, LAST)

    def act(seen: Observation) -> Tensor:
        return torch.eye(world.n_symbols + 1, dtype=torch.float64)[next(bar)].view(1, 1, -1)

    return backtest_portfolio(task, act, bars_per_year=1_764.0)


@pytest.mark.parametrize("rule", ["buy_and_hold", "sma_cross:fast=3,slow=9"])
def test_portfolio_of_one_sleeve_is_the_backtest_of_that_sleeve(rule: str) -> None:
    own, made = sleeves_by(rule), portfolio_by(rule, *[1] * (LAST - FIRST))

    assert (made.symbols, len(made.trades)) == ((PORTFOLIO,), 0)
    assert made.closed_at.tolist() == own.closed_at.tolist()
    for name in ("equity", "position_frac", "turnover_frac", "cost_frac"):
        expected = getattr(own, name)[:, 1]
        assert np.ptp(expected) > 0.0
        np.testing.assert_allclose(getattr(made, name)[:, 0], expected, rtol=1e-9, atol=1e-12)
    assert made.action[:, 0].tolist() == [1.0] * made.n_bars
    assert made.reward_terms.sum() == pytest.approx(np.log(made.equity[-1, 0]), abs=1e-5)


def test_exposure_of_a_portfolio_times_returns_is_what_it_earned() -> None:
    world = small_world()
    moves = bar_returns(world.prices, world.present)
    gap, whole = (part[:, FIRST + 1 : LAST + 1].T for part in moves)
    made = portfolio_by("buy_and_hold", *[0] * SWITCH, *[1] * (LAST - FIRST - SWITCH))
    moved = made.exposure.gap * gap + made.exposure.day * (whole - gap)
    assert made.exposure.day.shape == whole.shape
    np.testing.assert_allclose(made.returns[:, 0], moved.sum(axis=1), atol=4e-4)
    calm = made.cost_frac[:, 0] == 0.0
    assert calm.sum() > 20
    np.testing.assert_allclose(made.returns[calm, 0], moved.sum(axis=1)[calm], atol=1e-12)


def test_capital_that_moves_pays_for_both_positions_once() -> None:
    own = sleeves_by("buy_and_hold")
    made = portfolio_by("buy_and_hold", *[0] * SWITCH, *[1] * (LAST - FIRST - SWITCH))
    prices, bar = small_world().prices[:2], FIRST + SWITCH
    gap = prices[:, bar + 1, 0] / prices[:, bar, 3]
    held = own.position_frac[SWITCH - 1, :2]
    at_open = 1.0 - held + held * gap
    traded = (held * gap / at_open).sum()
    cost = CONFIG.costs.one_way_frac * traded
    within = own.equity[SWITCH + 1, 1] / (own.equity[SWITCH, 1] * at_open[1])

    assert traded == pytest.approx(2.0, abs=0.01)
    assert made.turnover_frac[SWITCH, 0] == pytest.approx(traded, rel=1e-9)
    assert made.cost_frac[SWITCH, 0] == pytest.approx(cost, rel=1e-9)
    growth = made.equity[SWITCH + 1, 0] / made.equity[SWITCH, 0]
    assert growth == pytest.approx(at_open[0] * within * (1.0 - cost), rel=1e-9)
    assert np.flatnonzero(made.turnover_frac[:, 0] > 0.0).tolist() == [0, SWITCH]


def test_pool_of_two_accounts_weighs_them_by_what_they_are_worth() -> None:
    two = np.arange(2.0)
    held = np.array([[0.5, 1.0], [0.0, 1.0], [0.2, -0.4]])
    played = replace(
        sleeves_by("buy_and_hold"),
        symbols=("A", "B"),
        equity=np.array([[1.0, 1.0], [1.2, 0.8], [1.5, 0.5], [0.0, 0.0]]),
        position_frac=np.array([[0.5, 1.0], [1.0, -1.0], [1.0, 1.0]]),
        exposure=Exposure(gap=0.0 * held, day=held),
        turnover_frac=np.array([[0.1, 0.3], [0.2, 0.4], [1.0, 3.0]]),
        cost_frac=np.array([[0.01, 0.03], [0.02, 0.04], [0.1, 0.3]]),
        action=np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]),
        reward_terms=np.array([[0.2, 0.4]]),
        denials=np.array([2, 3]),
        account=AccountTotals(two + 1.0, two + 2.0, two + 3.0, two + 4.0),
    )
    pool = pool_accounts(played)

    def column(values: np.ndarray) -> list[float]:
        assert values.shape[1:] == (1,)
        return [pytest.approx(each, abs=1e-12) for each in values[:, 0]]

    assert pool.symbols == (PORTFOLIO,)
    assert column(pool.equity) == [1.0, 1.0, 1.0, 0.0]
    assert column(pool.position_frac) == [0.7, 0.5, 0.0]
    expected = held * [[0.5, 0.5], [0.6, 0.4], [0.75, 0.25]]
    np.testing.assert_allclose(pool.exposure.day, expected)
    assert not pool.exposure.gap.any()
    assert column(pool.turnover_frac) == [0.2, 0.28, 1.5]
    assert column(pool.cost_frac) == [0.02, 0.028, 0.15]
    assert column(pool.action) == [0.5, 1.0, 0.0]
    assert column(pool.reward_terms) == [0.3]
    assert pool.denials.tolist() == [5]
    assert [part.tolist() for part in pool.account] == [[3.0], [5.0], [7.0], [9.0]]
    assert set(played.trades.symbol.tolist()) == {0, 1, 2}
    assert set(pool.trades.symbol.tolist()) == {0}
