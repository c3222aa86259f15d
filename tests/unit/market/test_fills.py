"""Execution: what volume, cash and halts leave of an order."""

from __future__ import annotations

import pytest
import torch

from fixtures.plain_accounts import accounts, bars, costs, money
from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostRates
from tradingbot.market.fills import execute, volume_cap
from tradingbot.market.ledger import FillBatch


def filled(
    account: Account, order: float, bar: Bar | None = None, rates: CostRates | None = None
) -> FillBatch:
    bar = bar or bars()
    orders = torch.tensor([order], dtype=torch.float64)
    return execute(rates or costs(), account, orders, bar.open, bar, volume_cap(bar, 0.1))


def test_fill_of_an_order_pays_price_and_fee() -> None:
    fill = filled(accounts(), 20.0, rates=costs(0.002, 0.001))
    assert money(fill.price) == [100.1]
    assert money(fill.base) == [100.0]
    assert money(fill.fee) == [4.004]  # 0.2 % of 20 · 100.10
    assert money(fill.slippage) == [2.0]
    assert money(fill.value) == [2_002.0]


@pytest.mark.parametrize("bar", [bars(tradable=0.0), bars(volume=0.0)], ids=["halt", "no volume"])
def test_fill_without_a_market_is_nothing(bar: Bar) -> None:
    for part in filled(accounts(units=5.0, entry=90.0), -5.0, bar):
        assert money(part) == [0.0]


def test_fill_is_cut_to_its_share_of_volume() -> None:
    assert money(filled(accounts(), 20.0, bars(volume=123.0)).units) == [12.3]
    long = accounts(cash=0.0, units=50.0, entry=100.0)
    assert money(filled(long, -50.0, bars(volume=123.0)).units) == [-12.3]


def test_buy_beyond_cash_is_cut_to_what_it_pays_for() -> None:
    fill = filled(accounts(), 500.0, rates=costs(0.01, 0.0))
    assert fill.units.item() == pytest.approx(10_000.0 / 101.0)
    left = 10_000.0 - float(fill.value + fill.fee)
    assert 0.0 <= left < 1e-6


def test_buy_that_covers_a_short_is_filled_whatever_the_cash() -> None:
    ruined = accounts(cash=500.0, units=-10.0, entry=40.0)
    assert money(filled(ruined, 10.0).units) == [10.0]
    assert money(filled(ruined, 25.0).units) == [10.0]  # and not a unit more


def test_sale_is_not_limited_by_cash() -> None:
    assert money(filled(accounts(cash=0.0, units=30.0, entry=1.0), -30.0).units) == [-30.0]


@pytest.mark.parametrize("order", [-30.0 * (1 - 5e-10), -30.0 * (1 + 5e-10)])
def test_fill_that_would_leave_a_speck_takes_it_too(order: float) -> None:
    assert filled(accounts(units=30.0, entry=100.0), order).units.item() == -30.0


def test_fill_that_leaves_a_little_leaves_it() -> None:
    fill = filled(accounts(units=30.0, entry=100.0), -30.0 * (1 - 1e-6))
    assert fill.units.item() == -30.0 * (1 - 1e-6)


def test_order_of_nothing_fills_nothing() -> None:
    for part in filled(accounts(units=5.0, entry=90.0), 0.0):
        assert money(part) == [0.0]


def test_buy_at_a_higher_open_leaves_the_reserve() -> None:
    bar = bars(130.0)
    orders = torch.tensor([80.0], dtype=torch.float64)

    fill = execute(costs(), accounts(), orders, bar.open, bar, volume_cap(bar, 0.1), 2_000.0)

    assert fill.units.item() == pytest.approx(8_000.0 / 130.0)
