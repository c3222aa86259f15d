"""Positions and cash follow fills exactly, in any number, and say where the venue differs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from fixtures.order_records import AT
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.stock_split import StockSplit

CASH = Decimal(10_000)


def execution(fill_id: str, units: str, price: str, *, symbol: str = "SPY", fee: str = "0") -> Fill:
    size = Decimal(units)
    side = Side.BUY if size > 0 else Side.SELL
    return Fill(fill_id, "order", symbol, side, abs(size), Decimal(price), AT, fee_ccy=Decimal(fee))


def test_fills_count_once_and_cash_is_exact() -> None:
    held = Holdings(CASH)
    bought = execution("1", "0.333333333", "100.01", fee="0.07")

    assert [held.book(bought), held.book(bought)] == [True, False]

    assert held.units("SPY") == Decimal("0.333333333")
    assert held.cash_ccy == CASH - Decimal("0.333333333") * Decimal("100.01") - Decimal("0.07")
    with pytest.raises(TradingError, match="fill_id must name one fill"):
        held.book(replace(bought, price=Decimal(5)))


def test_cash_keeps_digits_that_no_float_has() -> None:
    held = Holdings(CASH)
    held.book(execution("1", "-123456.123456789", "9876.543212345", fee="0.000000001"))
    held.book(execution("2", "123456.123456789", "9876.543212344"))

    assert held.cash_ccy == CASH + Decimal("0.000123456123456789") - Decimal("0.000000001")


def test_B28_busted_trade_restates_profit_and_cash() -> None:
    held, never = Holdings(CASH), Holdings(CASH)
    for each in (execution("1", "10", "100"), execution("2", "-4", "1"), execution("3", "2", "90")):
        held.book(each)
        if each.fill_id != "2":
            never.book(each)

    assert [held.bust("2"), held.bust("2"), held.bust("none")] == [True, False, False]
    assert (held.cash_ccy, held.positions) == (never.cash_ccy, never.positions)


def test_B27_split_overnight_rebases_the_entry_and_keeps_the_cost() -> None:
    held = Holdings(CASH)
    held.book(execution("1", "10", "100"))
    held.split(StockSplit("SPY", 4, 1))

    position = held.positions["SPY"]
    assert (position.units, position.cost_ccy, position.average_entry) == (40, 1_000, 25)
    assert held.find_drift({"SPY": Decimal(40)}) == {}
    held.split(StockSplit("SPY", 1, 10))
    assert held.units("SPY") == 4
    held.book(execution("2", "-4", "250"))
    assert held.positions["SPY"].is_flat
    held.bust("1")  # folded again: the splits count for what is left
    assert held.units("SPY") == -4
    with pytest.raises(TradingError, match="whole numbers above 0"):
        StockSplit("SPY", 0, 1)


def test_B14_drift_names_every_symbol_that_differs() -> None:
    held = Holdings(CASH)
    held.book(execution("1", "10", "100"))
    held.book(execution("2", "5", "10", symbol="QQQ"))
    held.book(execution("3", "-5", "10", symbol="QQQ"))

    assert held.find_drift({"SPY": Decimal(10)}) == {}
    found = held.find_drift({"SPY": Decimal("9.5"), "IWM": Decimal(2)})
    assert found == {"IWM": Decimal(-2), "SPY": Decimal("0.5")}
    assert held.find_drift({}) == {"SPY": Decimal(10)}


def test_equity_is_unknown_where_a_held_symbol_has_no_price() -> None:
    held = Holdings(CASH)
    held.book(execution("1", "10", "100"))

    assert held.equity_ccy({"SPY": Decimal(101)}) == CASH + 10
    assert held.equity_ccy({}) is None
    assert held.equity_ccy({"SPY": Decimal("NaN")}) is None
    assert held.units("QQQ") == 0
