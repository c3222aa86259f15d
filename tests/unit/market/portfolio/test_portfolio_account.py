"""One account of several symbols in units and money: `rebalance` in shares of the value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tradingbot.domain.denial import ExitReason
from tradingbot.market.account import Account
from tradingbot.market.advance import fill_order, open_terms
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.market.portfolio.account import (
    PortfolioAccount,
    lanes_for_fills,
    observe_portfolio,
    open_portfolio,
    read_portfolio,
    send_net,
    settle_portfolio,
    write_portfolio,
)
from tradingbot.market.portfolio.accounting import rebalance
from tradingbot.market.portfolio.net_orders import PortfolioHoldings, SleeveBars
from tradingbot.risk.limits import RiskLimits

N = 3
RATES = CostProfile(spread_frac=2e-4, impact_coef=0.2, borrow_frac_per_bar=1e-5).rates(
    dtype=torch.float64
)


def rules_with(reserve: float = 0.0, stop: float = math.inf) -> SimulatorParams:
    limits = RiskLimits(
        max_position_frac=1.0, min_trade_ccy=1.0, reserve_frac=reserve, allow_short=True
    )
    account = AccountRules(
        quantity_decimals=9,
        max_participation_frac=0.3,
        position_loss_frac=stop,
        portfolio_loss_frac=1.0,
    )
    return SimulatorParams(account=account, limits=limits)


def draw_bar(draws: np.random.Generator, close: torch.Tensor) -> Bar:
    """A bar with large gaps, sometimes without a market."""
    opened = close.numpy() * draws.uniform(0.85, 1.25, N)
    closed = opened * draws.uniform(0.95, 1.05, N)
    there = draws.random(N) > 0.15
    opened, closed = (np.where(there, each, close.numpy()) for each in (opened, closed))
    volume = np.where(there, draws.choice([300.0, 1e5], N), 0.0)
    low, high = np.minimum(opened, closed), np.maximum(opened, closed)
    rows = (opened, high, low, closed, volume, np.full(N, 0.01), there.astype(float))
    return Bar(*(torch.from_numpy(np.asarray(each)) for each in rows))


def sleeve_bars(account: PortfolioAccount, bar: Bar, target: torch.Tensor) -> SleeveBars:
    has_market = ((bar.tradable > 0.0) & (bar.volume > 0.0)).double()
    parts = (
        *(bar.open / account.mark - 1.0, bar.close / bar.open - 1.0, target, has_market),
        *(account.stale_bars.double(), bar.volume * bar.open, bar.volatility),
    )
    return SleeveBars(*(each[None] for each in parts))


@pytest.mark.parametrize("reserve", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_bars_in_units_are_those_in_shares_of_the_value(seed: int, reserve: float) -> None:
    draws, rules = np.random.default_rng(seed), rules_with(reserve)
    close = torch.from_numpy(draws.uniform(20.0, 200.0, N))
    account = open_portfolio(rules, close, torch.zeros(N, dtype=torch.int32))
    shares = PortfolioHoldings(account.capital[None], torch.zeros(1, N, dtype=torch.float64))
    value, n_cut = account.equity, 0
    for _ in range(60):
        wanted = torch.from_numpy(draws.dirichlet([2.0, 2.0, 2.0, 0.3]))
        target = torch.from_numpy(draws.uniform(-0.2, 1.0, N))
        bar = draw_bar(draws, account.mark)
        sent = send_net(rules, account, wanted, target)
        lanes = lanes_for_fills(rules, RATES, account, bar, sent.order)
        terms = open_terms(rules, lanes, bar)
        fill = fill_order(rules, RATES, lanes, bar, sent.order, terms)
        bars = sleeve_bars(account, bar, target)
        made = rebalance(rules, RATES, shares, wanted[None], bars, value)

        filled = made.order[0] * value / account.mark
        np.testing.assert_allclose(fill.units.numpy(), filled.numpy(), rtol=1e-9, atol=5e-8)
        cut = (fill.units < sent.order - 1e-6) & (bar.tradable > 0.0)
        n_cut += int(cut.any())
        account = settle_portfolio(rules, RATES, account, bar, sent, fill)
        shares, value = made.after, value * made.total
        assert float(account.equity) == pytest.approx(float(value), rel=1e-9)
        np.testing.assert_allclose(account.capital.numpy(), shares.capital[0].numpy(), atol=1e-9)
        held = account.holdings.held[0].numpy()
        np.testing.assert_allclose(held, shares.held[0].numpy(), atol=1e-9)
        lanes_worth = account.lanes.equity / account.equity
        np.testing.assert_allclose(lanes_worth.numpy(), account.capital[:-1].numpy(), atol=1e-9)
    assert n_cut > 5


def test_account_comes_back_bit_for_bit() -> None:
    rules = rules_with()
    account = open_portfolio(rules, torch.full((N,), 30.0).double(), torch.zeros(N).int())
    wanted = torch.tensor([0.3, 0.3, 0.3, 0.1], dtype=torch.float64)
    sent = send_net(rules, account, wanted, torch.ones(N).double())
    bar = draw_bar(np.random.default_rng(1), account.mark)
    lanes = lanes_for_fills(rules, RATES, account, bar, sent.order)
    fill = fill_order(rules, RATES, lanes, bar, sent.order, open_terms(rules, lanes, bar))
    account = settle_portfolio(rules, RATES, account, bar, sent, fill)

    again = read_portfolio(account.lanes, write_portfolio(account))
    assert isinstance(again.lanes, Account)
    for ours, theirs in zip(again[1:], account[1:], strict=True):
        assert torch.equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert torch.equal(observe_portfolio(rules, again), observe_portfolio(rules, account))


def test_position_that_is_left_is_closed_to_the_last_unit() -> None:
    rules = rules_with()
    account = open_portfolio(rules, torch.tensor([30.1, 7.7, 99.3]).double(), torch.zeros(N).int())
    units = torch.tensor([123.456789123, 0.000000007, 11.1], dtype=torch.float64)
    lanes = account.lanes._replace(units=units, cash=-units * account.mark)
    account = account._replace(lanes=lanes, cash=account.cash - (units * account.mark).sum())
    cash = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    sent = send_net(rules, account, cash, torch.ones(N).double())

    assert sent.decision.order.tolist() == (-units).tolist()


def test_position_beyond_the_sessions_stop_is_closed_whatever_is_wanted() -> None:
    rules = rules_with(stop=0.05)
    account = open_portfolio(rules, torch.tensor([94.0, 96.0, 50.0]).double(), torch.zeros(N).int())
    units = torch.tensor([10.0, 10.0, 0.0], dtype=torch.float64)
    entry = torch.tensor([100.0, 100.0, 0.0], dtype=torch.float64)
    account = account._replace(lanes=account.lanes._replace(units=units, entry=entry))
    wanted = torch.tensor([0.5, 0.3, 0.0, 0.2], dtype=torch.float64)
    sent = send_net(rules, account, wanted, torch.ones(N).double())

    assert sent.order[0] == -10.0
    assert sent.forced.tolist() == [int(ExitReason.POSITION_LOSS), 0, 0]
    assert sent.order[1] > 0.0


def test_account_that_trades_nothing_keeps_its_money_to_the_last_bit() -> None:
    """However capital is divided: a rounding of money would be a return."""
    rules, draws = rules_with(), np.random.default_rng(3)
    account = open_portfolio(rules, torch.full((N,), 30.0).double(), torch.zeros(N).int())
    for _ in range(50):
        wanted = torch.from_numpy(draws.dirichlet(np.ones(N + 1)))
        sent = send_net(rules, account, wanted, torch.zeros(N).double())
        nothing = fill_order(
            rules,
            RATES,
            account.lanes,
            bar := draw_bar(draws, account.mark),
            sent.order,
            open_terms(rules, account.lanes, bar),
        )
        account = settle_portfolio(rules, RATES, account, bar, sent, nothing)
    assert float(account.equity) == rules.account.initial_cash_ccy
