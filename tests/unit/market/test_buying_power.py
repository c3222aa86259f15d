"""Room to buy and to sell short, by hand."""

from __future__ import annotations

import pytest

from fixtures.plain_accounts import accounts, costs, money
from tradingbot.market.buying_power import buying_power_of
from tradingbot.risk import RiskLimits

FREE = costs()


def test_room_of_a_flat_account_is_cash_and_place() -> None:
    flat = accounts()
    room = buying_power_of(RiskLimits(0.15), FREE, flat, flat.equity)
    assert money(room.buy_room) == [10_000.0]
    assert money(room.place) == money(room.largest) == [1_500.0]
    assert money(room.short_room) == [0.0]


def test_room_to_buy_leaves_costs_and_reserve() -> None:
    flat = accounts()
    rates = costs(0.002, 0.001, spread_frac=0.004)  # 20 + 10 + half of 40 bp
    room = buying_power_of(RiskLimits(0.15, reserve_frac=0.1), rates, flat, flat.equity)
    assert room.buy_room.item() == pytest.approx(9_000.0 / 1.005)


def test_room_of_a_long_is_less_by_what_it_holds() -> None:
    long = accounts(cash=9_000.0, units=10.0, entry=100.0)
    room = buying_power_of(RiskLimits(0.15), FREE, long, long.equity)
    assert money(room.long_value) == [1_000.0]
    assert money(room.place) == [500.0]
    assert money(room.buy_room) == [9_000.0]


def test_room_of_a_short_keeps_its_cover_and_margin() -> None:
    short = accounts(cash=12_000.0, units=-20.0, entry=100.0)  # equity 10,000
    limits = RiskLimits(1.0, allow_short=True, margin_frac=1.5)
    room = buying_power_of(limits, FREE, short, short.equity)
    assert money(room.short_value) == [2_000.0]
    assert money(room.buy_room) == [10_000.0]  # 12,000 less what buys back the short
    assert money(room.short_room) == [18_000.0]  # (12,000 − 1.5 · 2,000) ÷ 0.5
    assert money(room.place) == [8_000.0]


def test_room_of_an_account_in_debt_is_nothing() -> None:
    broke = accounts(cash=[-5.0, 1_000.0], units=[0.0, -20.0], entry=[0.0, 40.0])
    room = buying_power_of(RiskLimits(1.0, allow_short=True), FREE, broke, broke.equity)
    assert money(room.largest) == money(room.place) == [0.0, 0.0]
    assert money(room.buy_room) == money(room.short_room) == [0.0, 0.0]


def test_room_to_sell_short_counts_what_selling_the_long_brings() -> None:
    long = accounts(cash=9_000.0, units=10.0, entry=100.0)
    room = buying_power_of(
        RiskLimits(1.0, allow_short=True, margin_frac=1.5), FREE, long, long.equity
    )
    assert money(room.short_room) == [20_000.0]  # (9,000 + 1,000) / 0.5
