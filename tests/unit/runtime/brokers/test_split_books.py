"""What a split does to orders that work at the paper broker, and how it is taken back (B27)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from fixtures.order_records import AT
from fixtures.session_orders import sale, wanted
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent, OrderType
from tradingbot.runtime.brokers.paper.rewinding import rewind_books
from tradingbot.runtime.brokers.paper.split_books import split_books
from tradingbot.runtime.brokers.paper.store import PaperStore
from tradingbot.runtime.stock_split import StockSplit

DAY = AT + timedelta(days=1)
FOUR, TENTH = StockSplit("SPY", 4, 1), StockSplit("SPY", 1, 10)
ONE = Decimal(1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PaperStore]:
    store = PaperStore(tmp_path / "venue.sqlite", Decimal(1000))
    yield store
    store.close()


def split_orders(store: PaperStore, split: StockSplit, *orders: OrderIntent) -> list[str]:
    with store.transaction():
        for each in orders:
            store.add_order(each, AT, AT)
        return split_books(store, split, DAY, Decimal(100), ONE)[1]


@pytest.mark.parametrize(
    ("limit", "bought", "sold"), [("10.01", "2.5", "2.51"), ("2.51", "0.6275", "0.6275")]
)
def test_limits_are_on_a_tick_and_never_worse(
    store: PaperStore, limit: str, bought: str, sold: str
) -> None:
    price = {"order_type": OrderType.LIMIT, "limit_price": Decimal(limit)}
    split_orders(store, FOUR, wanted(1, **price), sale(2, **price))

    prices = [each.limit_price for each in store.working_orders(DAY)]
    assert prices == [Decimal(bought), Decimal(sold)]
    assert [each.quantity_units for each in store.open_orders()] == [40, 40]


def test_limit_below_the_least_tick_is_the_tick(store: PaperStore) -> None:
    order = wanted(order_type=OrderType.LIMIT, limit_price=Decimal("0.05"))
    split_orders(store, StockSplit("SPY", 1000, 1), order)
    assert store.working_orders(DAY)[0].limit_price == Decimal("0.0001")


def test_only_what_is_left_of_an_order_is_split(store: PaperStore) -> None:
    order = wanted(units="35")
    with store.transaction():
        store.add_order(order, AT, AT)
        store.query("UPDATE orders SET filled = '10', status = ?", (OrderStatus.PARTIALLY_FILLED,))
        split_books(store, TENTH, DAY, Decimal(100), ONE)

    (found,) = store.open_orders()
    assert (found.quantity_units, found.filled_units) == (12, 10)


def test_order_of_which_nothing_is_left_ends_and_comes_back_when_it_is_undone(
    store: PaperStore,
) -> None:
    small, other = wanted(1, units="9"), wanted(2, symbol="QQQ")
    assert split_orders(store, TENTH, small, other) == [small.client_order_id]
    assert [each.symbol for each in store.open_orders()] == ["QQQ"]

    with store.transaction():
        rewind_books(store, {each.client_order_id for each in (small, other)}, (), (), AT)
    assert [each.quantity_units for each in store.open_orders()] == [9, 10]


@pytest.mark.parametrize(("held", "kept", "paid"), [("9", "0", "900"), ("-25", "-2", "-500")])
def test_fraction_of_all_that_is_held_or_owed_is_paid(
    store: PaperStore, held: str, kept: str, paid: str
) -> None:
    with store.transaction():
        store.set_units("SPY", Decimal(held))
        cash, _ = split_books(store, TENTH, DAY, Decimal(100), ONE)

    assert cash == Decimal(paid)
    assert store.cash_ccy == 1000 + cash
    assert store.positions().get("SPY", Decimal(0)) == Decimal(kept)


def test_fills_after_a_split_are_taken_back_before_it(store: PaperStore) -> None:
    order = wanted(units="30")
    with store.transaction():
        store.set_units("SPY", Decimal(20))
        store.add_order(order, AT, AT)
        split_books(store, TENTH, DAY, Decimal(100), ONE)
        (working,) = store.working_orders(DAY)
        store.add_fill(working, Decimal(3), Decimal(1000), Decimal(1), DAY)
    assert store.positions() == {"SPY": 5}

    with store.transaction():
        rewind_books(store, {order.client_order_id}, (), (), AT)
    (found,) = store.open_orders()
    assert store.positions() == {"SPY": 20}
    assert store.cash_ccy == 1000
    assert (found.quantity_units, found.filled_units, found.status) == (30, 0, OrderStatus.ACCEPTED)
