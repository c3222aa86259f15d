"""A portfolio as the backtester records it, against backtests of its sleeves and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import crashed, small_world
from tradingbot.data.factor import bar_returns
from tradingbot.data.splits import IndexRange
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.sleeves import write_book
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.backtest import Backtest, backtest, baseline, sleeve_config
from tradingbot.evaluation.backtest.backtests import as_one_episode
from tradingbot.evaluation.backtest.portfolios import backtest_portfolio, pool_accounts
from tradingbot.evaluation.backtest.result import AccountTotals
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.learning.task import Observation
from tradingbot.training.sleeve_book import sleeve_rule, trade_sleeves

FIRST, LAST, SWITCH = 250, 280, 15
CONFIG = as_one_episode(sleeve_config(max_participation_frac=1.0), LAST - FIRST)


def sleeves_by(rule: str) -> Backtest:
    world, bars = small_world(), IndexRange(FIRST, LAST + 1)
    policy = baseline(rule, world)
    return backtest(world, CONFIG, policy, name=rule, bars=bars, bars_per_year=1_764.0)


def portfolio_by(rule: str, *sleeves: int) -> Backtest:
    """Give all capital to one sleeve, bar by bar; sleeves begin with the portfolio."""
    world, bar = small_world(), iter(sleeves)
    paths = trade_sleeves(world, CONFIG, sleeve_rule(rule, world, 0), first_bar=FIRST)
    terms = PortfolioTerms(CONFIG.rules, CONFIG.costs)
    task = PortfolioTask(write_book(world, paths), terms, n_envs=1, seed=0).backtest(FIRST, LAST)

    def act(seen: Observation) -> Tensor:
        return torch.eye(world.n_symbols + 1, dtype=torch.float64)[next(bar)].view(1, 1, -1)

    return backtest_portfolio(task, act, bars_per_year=1_764.0, name="master")


def portfolio_late(rule: str, delay_bars: int) -> Backtest:
    world = small_world()
    paths = trade_sleeves(world, CONFIG, sleeve_rule(rule, world, 0))
    terms = PortfolioTerms(CONFIG.rules, CONFIG.costs)
    task = PortfolioTask(write_book(world, paths), terms, n_envs=1, seed=0).backtest(FIRST, LAST)
    weights = torch.full((1, 1, world.n_symbols + 1), 1.0, dtype=torch.float64)
    return backtest_portfolio(
        task, lambda seen: weights, bars_per_year=1.0, name="even", delay_bars=delay_bars
    )


@pytest.mark.parametrize("rule", ["buy_and_hold", "sma_cross:fast=3,slow=9"])
def test_portfolio_of_one_sleeve_is_the_backtest_of_that_sleeve(rule: str) -> None:
    own, made = sleeves_by(rule), portfolio_by(rule, *[1] * (LAST - FIRST))

    assert (made.symbols, made.traded) == ((PORTFOLIO,), small_world().symbols)
    mine = own.trades.select(own.trades.symbol == 1)
    assert set(made.trades.symbol.tolist()) == {1}
    for name in ("entered_at", "exited_at", "bars", "is_open", "side"):
        assert getattr(made.trades, name).tolist() == getattr(mine, name).tolist()
    for name in ("units", "entry_price", "exit_price", "pnl_ccy", "commission_ccy", "slippage_ccy"):
        np.testing.assert_allclose(getattr(made.trades, name), getattr(mine, name), rtol=1e-6)
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
    costs = CONFIG.costs
    commission, slip = costs.commission_frac, costs.slippage_frac
    held = made.position_frac[SWITCH - 1, 0]
    assert held == pytest.approx(own.position_frac[SWITCH - 1, 0], rel=1e-9)
    sold = held * gap[0] * (1.0 - slip)  # at the price of the fill
    proceeds = 1.0 - held + sold * (1.0 - commission)
    bought = proceeds / (1.0 + commission)  # nothing is bought on credit
    within = (prices[1, bar + 1, 3] / prices[1, bar + 1, 0]) / (1.0 + slip)

    assert made.turnover_frac[SWITCH, 0] == pytest.approx(sold + bought, rel=1e-6)
    paid = commission * (sold + bought) + slip * (held * gap[0] + bought / (1.0 + slip))
    assert made.cost_frac[SWITCH, 0] == pytest.approx(paid, rel=1e-6)
    growth = made.equity[SWITCH + 1, 0] / made.equity[SWITCH, 0]
    assert growth == pytest.approx(bought * within, rel=1e-6)
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
    assert pool.traded == ("A", "B")
    assert set(pool.trade_account.tolist()) == {0}


def test_value_is_sleeves_and_cash_and_what_trades_earned() -> None:
    made = portfolio_by("sma_cross:fast=3,slow=9", *[0] * SWITCH, *[1] * (LAST - FIRST - SWITCH))

    cash = made.initial_cash_ccy
    assert len(made.trades) >= 2
    assert cash + made.trades.pnl_ccy.sum() == pytest.approx(cash * made.equity[-1, 0], rel=1e-12)
    assert made.account.turnover_ccy[0] > made.account.commission_ccy[0] > 0.0
    assert made.weights is not None
    assert made.weights.sum(axis=1).tolist() == [1.0] * made.n_bars
    assert made.cash_frac is not None
    np.testing.assert_allclose(made.cash_frac, 1.0 - made.position_frac[:, 0], atol=1e-12)
    assert np.ptp(made.cash_frac) > 0.9  # sleeves get all of it, and are in or out


def halted_portfolio(loss_frac: float, delay_bars: int = 0) -> Backtest:
    """Give half each to two sleeves that hold; the first symbol halves at `SWITCH`."""
    world = crashed(small_world(), 0, FIRST + SWITCH)
    paths = trade_sleeves(world, CONFIG, sleeve_rule("buy_and_hold", world, 0))
    account = replace(CONFIG.rules.account, portfolio_loss_frac=loss_frac)
    terms = PortfolioTerms(replace(CONFIG.rules, account=account), CONFIG.costs)
    task = PortfolioTask(write_book(world, paths), terms, n_envs=1, seed=0).backtest(FIRST, LAST)
    weights = torch.tensor([0.5, 0.5, *[0.0] * (world.n_symbols - 1)], dtype=torch.float64)
    return backtest_portfolio(
        task,
        lambda seen: weights.view(1, 1, -1),
        bars_per_year=1.0,
        name="halves",
        delay_bars=delay_bars,
    )


@pytest.mark.parametrize("delay_bars", [0, 2])
def test_halted_portfolio_asks_for_no_capital_any_more(delay_bars: int) -> None:
    halted, free = (halted_portfolio(loss, delay_bars) for loss in (0.2, 1.0))

    assert halted.weights is not None
    assert free.weights is not None
    lost = int(np.flatnonzero(halted.portfolio <= 0.8)[0])
    assert lost == SWITCH  # the close at which half of it has halved
    assert halted.weights[delay_bars:lost].tolist() == free.weights[delay_bars:lost].tolist()
    assert halted.weights[lost:, -1].tolist() == [1.0] * (halted.n_bars - lost)
    assert not halted.weights[lost:, :-1].any()
    assert halted.action[lost:].tolist() == [[0.0]] * (halted.n_bars - lost)
    assert free.weights[-1, :2].tolist() == [0.5, 0.5]
    assert halted.cash_frac is not None
    assert halted.cash_frac[lost:].tolist() == [1.0] * (halted.n_bars - lost)


def test_decisions_that_wait_are_those_of_a_later_start() -> None:
    sure, late = (portfolio_late("sma_cross:fast=3,slow=9", delay) for delay in (0, 2))

    assert (sure.delay_bars, late.delay_bars) == (0, 2)
    assert late.weights is not None
    assert sure.weights is not None
    assert late.weights[:2, -1].tolist() == [1.0, 1.0]
    assert late.weights[2:].tolist() == sure.weights[:-2].tolist()
    assert not late.turnover_frac[:2].any()
    assert late.turnover_frac[2, 0] == pytest.approx(sure.turnover_frac[0, 0], rel=1e-3)
    assert late.equity[-1, 0] != sure.equity[-1, 0]
    # Sleeves wait as well: positions that their agents open and close come as much later.
    held = [np.abs(each.exposure.day) > 0.0 for each in (sure, late)]
    assert held[0].any(axis=0).any()
    assert (held[0][1:] != held[0][:-1]).any()
    assert held[1][2:].tolist() == held[0][:-2].tolist()


def test_what_is_short_is_no_cash() -> None:
    world = small_world()
    rules = replace(CONFIG.rules, limits=replace(CONFIG.rules.limits, allow_short=True))
    config = replace(CONFIG, rules=rules)
    paths = trade_sleeves(
        world, config, lambda seen: torch.full((1, world.n_symbols), -0.5), first_bar=FIRST
    )
    terms = PortfolioTerms(config.rules, config.costs)
    task = PortfolioTask(write_book(world, paths), terms, n_envs=1, seed=0).backtest(FIRST, LAST)
    weights = torch.eye(world.n_symbols + 1, dtype=torch.float64)[0].view(1, 1, -1)
    made = backtest_portfolio(task, lambda seen: weights, bars_per_year=1.0, name="short")

    assert made.cash_frac is not None
    np.testing.assert_allclose(made.cash_frac[1:], 0.5, atol=0.1)
