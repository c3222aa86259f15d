"""Figures of the dossier agree with the backtests that they are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.agents.baselines.market_rules import buy_and_hold, flat
from tradingbot.domain.errors import DataError
from tradingbot.envs.build_world import synthetic_world
from tradingbot.evaluation.backtest import Backtest, backtest, sleeve_config
from tradingbot.evaluation.performance.measure import (
    agent_performances,
    day_ends,
    is_better,
    policy_performance,
    require_finite,
    share_interval,
    voluntary_trade_frac,
)
from tradingbot.evaluation.statistics.interval import Interval


@pytest.fixture(scope="module")
def held() -> Backtest:
    world = synthetic_world(n_bars=400)
    return backtest(world, sleeve_config(), buy_and_hold, name="hold", bars_per_year=1764.0)


@pytest.fixture(scope="module")
def idle() -> Backtest:
    world = synthetic_world(n_bars=400)
    return backtest(world, sleeve_config(), flat, name="flat", bars_per_year=1764.0)


def test_row_of_the_reference_itself_has_beta_one_and_no_alpha(held: Backtest) -> None:
    row = policy_performance(held, "baseline", held.portfolio_returns)

    assert row.beta == pytest.approx(1.0)
    assert row.alpha_annual_frac == pytest.approx(0.0, abs=1e-9)
    assert row.total_return_frac == pytest.approx(held.portfolio[-1] - 1.0)
    assert row.net_bps_per_bar.estimate == pytest.approx(1e4 * held.returns.mean())
    assert row.sharpe_annual.low < row.sharpe_annual.estimate < row.sharpe_annual.high
    assert row.n_trades == 0  # open to the end


def test_policy_that_never_trades_has_a_ratio_of_zero(idle: Backtest, held: Backtest) -> None:
    row = policy_performance(idle, "baseline", held.portfolio_returns)

    assert row.sharpe_annual == Interval(0.0, 0.0, 0.0)
    assert row.total_return_frac == row.max_drawdown_frac == row.exposure_frac == 0.0
    assert voluntary_trade_frac(idle) == 0.0


def test_equity_is_given_at_the_start_and_at_the_end_of_every_day(held: Backtest) -> None:
    places = day_ends(held)
    days = held.days()[places]

    assert (places[0], places[-1]) == (0, held.n_bars)
    assert len(set(days[1:].tolist())) == len(days) - 1


def test_agents_are_told_apart_and_compared_with_holding(idle: Backtest, held: Backtest) -> None:
    histograms = np.eye(len(idle.symbols), 7)

    rows = agent_performances(idle, held, histograms, trading_agents=[idle.symbols[1]])

    assert [row.agent for row in rows] == list(idle.symbols)
    assert [row.trades for row in rows] == [name == idle.symbols[1] for name in idle.symbols]
    assert [row.hold_return_frac for row in rows] == pytest.approx(held.equity[-1] - 1.0)
    assert {row.largest_bin_frac for row in rows} == {1.0}


def test_supervised_model_is_taken_at_its_best_threshold_of_each_symbol(
    held: Backtest, idle: Backtest
) -> None:
    histograms = np.eye(len(idle.symbols), 7)

    rows = agent_performances(idle, held, histograms, [], models=[idle, held])

    held_return = held.equity[-1] - 1.0
    assert held_return.min() < 0.0 < held_return.max()
    best = [row.supervised_return_frac for row in rows]
    assert best == pytest.approx(np.maximum(held_return, 0.0))
    without = agent_performances(idle, held, histograms, [])
    assert {row.supervised_return_frac for row in without} == {None}


def test_worth_that_is_no_number_is_named(held: Backtest) -> None:
    equity = held.equity.copy()
    equity[5, 2] = np.inf

    with pytest.raises(DataError, match=f"was inf \\(hold, {held.symbols[2]}"):
        require_finite(replace(held, equity=equity))


def test_share_of_what_earns_nothing_is_none() -> None:
    mine = np.linspace(-1.0, 2.0, 50)

    assert share_interval(mine, -np.abs(mine), 100) is None
    whole = share_interval(mine, mine, 100)
    assert whole is not None
    assert whole.estimate == 1.0


def test_more_than_an_oracle_that_hardly_earns_is_still_told_as_more() -> None:
    best = np.random.default_rng(0).normal(2.1e-4, 1.9e-3, 293)
    mine = 3.2 * best + 2e-4

    share = share_interval(mine, best, 500)

    assert share is not None
    assert share.estimate > 3.0
    assert not np.isnan([share.low, share.high]).any()
    assert is_better(mine, best)
    assert not is_better(best, best)
    assert not is_better(best, mine)
