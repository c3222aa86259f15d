"""What a split does to each part of a session and of the paper broker, one by one (B27)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from fixtures.order_records import AT, accepted, fill
from fixtures.session_orders import known, quiet_gate, wanted
from tradingbot.domain.events.session import ActAudited
from tradingbot.domain.events.trading import (
    OrderAccepted,
    OrderFilled,
    OrderSubmitted,
    StockSplitApplied,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import OrderType
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import SentOrder
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.brokers.paper.rewinding import rewind_books
from tradingbot.runtime.brokers.paper.split_books import split_books
from tradingbot.runtime.brokers.paper.store import PaperStore
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.reading import follow_order
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.control import recall_adopted
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.desk_events import list_bookings
from tradingbot.runtime.session.price_basis import read_sent, rebase_bar, rebase_sent, write_sent
from tradingbot.runtime.stock_split import StockSplit

FOUR = StockSplit("SPY", 4, 1)
DAY = AT + timedelta(days=1)


def test_B27_open_order_keeps_its_value_at_the_gate() -> None:
    gate, asked = quiet_gate(), wanted()
    assert isinstance(gate.judge(asked, known()), Approval)
    before = gate._open_value(gate.book.orders[asked.client_order_id])
    gate.split(FOUR)
    order = gate.book.orders[asked.client_order_id]

    assert order.intent.quantity_units == 40
    assert gate.prices[asked.client_order_id] == 25.0
    assert gate._open_value(order) == before == 1000.0


def test_B27_fills_that_accounts_have_not_booked_are_in_new_units() -> None:
    order = accepted()
    early = fill(order, "10", fill_id="early", price=Decimal(100), filled_at=AT)
    late = fill(order, "3", fill_id="late", price=Decimal(25), filled_at=DAY)
    split = StockSplitApplied("SPY", 4, 1, DAY, Decimal("0.5"), Decimal("12.34"))
    changes = (OrderFilled(early, Decimal(0)), split, OrderFilled(late, Decimal(0)))
    first, paid, last = list_bookings(changes, {order.client_order_id}, {})

    assert (first.quantity_units, first.price) == (40, 25)
    assert -paid.signed_units * paid.price - paid.fee_ccy == Decimal("12.34")
    assert paid.signed_units == Decimal("-0.5")
    assert last == late


def test_B27_units_that_are_not_the_sessions_are_split_too() -> None:
    held = Holdings(Decimal(0))
    held.adopt({"SPY": Decimal(3)})
    nothing: Any = None
    Desk("first", nothing, nothing, quiet_gate(), held).split(FOUR)
    assert held.find_drift({"SPY": Decimal(12)}) == {}


def test_B27_what_was_sent_is_kept_in_new_units_and_comes_back_from_a_record() -> None:
    numbers, codes = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([3, 6]).int()
    decision = Decision(numbers, codes, codes, codes > 4, numbers / 7.0, codes)
    sent = SentOrder(decision, numbers, codes, codes, numbers)
    split = StockSplitApplied("SPY", 4, 1, DAY)
    after = rebase_sent(sent, 0, split, decimals=9)
    again = read_sent(write_sent(after))

    assert after.order.tolist() == after.decision.order.tolist() == [40.0, -3.0]
    for was, now in zip((*after[1:], *after.decision), (*again[1:], *again.decision), strict=True):
        assert was.dtype == now.dtype
        assert was.tolist() == now.tolist()


def test_B27_paper_broker_splits_once_and_takes_back_what_the_journal_does_not_hold(
    tmp_path: Path,
) -> None:
    store = PaperStore(tmp_path / "venue.sqlite", Decimal(1000))
    reverse = StockSplit("SPY", 1, 10)
    with store.transaction():
        store.set_units("SPY", Decimal(25))
        store.add_order(wanted(units="30"), AT, AT)
        for _ in range(2):
            cash, ended = split_books(store, reverse, DAY, Decimal("10.01"), Decimal(1))
            assert (cash, ended) == (Decimal("50.05"), [])
    assert store.positions() == {"SPY": 2}
    assert store.cash_ccy == Decimal("1050.05")
    assert store.open_orders()[0].quantity_units == 3

    known_orders = set(store.order_ids())
    with store.transaction():
        rewind_books(store, known_orders, (), {("SPY", DAY)}, AT)
    assert store.positions() == {"SPY": 2}
    with store.transaction():
        rewind_books(store, known_orders, (), (), AT)
    assert store.positions() == {"SPY": 25}
    assert store.cash_ccy == 1000
    assert store.open_orders()[0].quantity_units == 30
    store.close()


def test_B27_limit_of_an_open_order_is_in_new_prices() -> None:
    price = {"order_type": OrderType.LIMIT, "limit_price": Decimal("99.98")}
    gate, asked = quiet_gate(), wanted(**price)
    assert isinstance(gate.judge(asked, known()), Approval)
    gate.split(FOUR)

    assert gate.book.orders[asked.client_order_id].intent.limit_price == Decimal("24.995")


def test_B27_fraction_that_was_short_is_bought() -> None:
    split = StockSplitApplied("SPY", 1, 10, DAY, Decimal("-0.5"), Decimal("-12.34"))
    (paid,) = list_bookings([split], (), {})

    assert paid.signed_units == Decimal("0.5")
    assert -paid.signed_units * paid.price - paid.fee_ccy == Decimal("-12.34")


def test_B27_bar_that_closes_as_the_day_begins_is_of_the_day_before() -> None:
    """Markets that never close have one."""
    fields = {"close": np.array([100.0, 7.0]), "volume": np.array([8.0, 9.0])}
    bar = MarketBar(0, DAY, np.array([True, True]), fields, {})
    split = StockSplitApplied("SPY", 4, 1, DAY)
    before = rebase_bar(bar, ("SPY", "QQQ"), [split])
    after = rebase_bar(replace(bar, closed_at=DAY + timedelta(hours=1)), ("SPY", "QQQ"), [split])

    assert before.fields["close"].tolist() == [25.0, 7.0]
    assert before.fields["volume"].tolist() == [32.0, 9.0]
    assert fields["close"].tolist() == after.fields["close"].tolist() == [100.0, 7.0]


def test_B27_order_of_whole_units_is_filled_whole_in_a_journal_that_is_read_again() -> None:
    """The book has 3.5 units of it left after the split; the venue gives no halves."""
    book, asked = OrderBook(), wanted(units="35")
    filled = fill(Order(asked), "3", filled_at=DAY)
    for event in (
        OrderSubmitted(asked, AT),
        OrderAccepted(asked.client_order_id, asked.symbol, AT, "venue-1"),
        StockSplitApplied("SPY", 1, 10, DAY),
        OrderFilled(filled, Decimal(0)),
    ):
        follow_order(book, event)

    order = book.orders[asked.client_order_id]
    assert (order.status, order.intent.quantity_units) == (OrderStatus.FILLED, 3)
    assert list(book.working()) == []


def test_B27_adopted_units_are_known_after_a_restart_as_splits_left_them() -> None:
    told = (
        ActAudited(AT, "adopt", "ada", "made outside", {"SPY": "3"}),
        StockSplitApplied("SPY", 4, 1, DAY),
        ActAudited(DAY, "adopt", "ada", "made outside", {"SPY": "1"}),
    )
    journal: Any = SimpleNamespace(events=lambda *_: told)
    nothing: Any = None
    desk = Desk("first", journal, nothing, quiet_gate(), Holdings(Decimal(0)))
    session: Any = SimpleNamespace(desk=desk)
    recall_adopted(session)

    assert desk.holdings.external == {"SPY": 13}
