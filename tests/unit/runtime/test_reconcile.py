"""After asking the venue the books are equal to its own, or what differs is named."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from fixtures.order_records import AT
from fixtures.session_orders import wanted
from fixtures.session_world import CASH, TrueVenue
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.approval import seal_intent
from tradingbot.runtime.brokers.protocol import BrokerOrder
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.order_book import BookAlert, OrderBook, open_order
from tradingbot.runtime.reconcile import reconcile


@pytest.fixture
def session() -> tuple[OrderBook, Holdings, TrueVenue, str]:
    """An order that was sent; its answer is lost."""
    book, venue = OrderBook(), TrueVenue()
    intent = wanted()
    book.add(open_order(intent))
    book.move(intent.client_order_id, OrderStatus.SUBMITTED)
    venue.submit(seal_intent(intent))
    return book, Holdings(CASH), venue, intent.client_order_id


Session = tuple[OrderBook, Holdings, TrueVenue, str]


def test_B02_B08_order_whose_answer_was_lost_is_found_with_its_fills(session: Session) -> None:
    book, held, venue, order_id = session
    venue.execute(order_id, Decimal(4))

    assert reconcile(book, held, venue, AT).is_clean
    assert book.orders[order_id].status is OrderStatus.PARTIALLY_FILLED
    assert held.units("SPY") == 4


def test_B01_B13_order_that_never_arrived_is_listed_and_not_sent(session: Session) -> None:
    book, held, _, order_id = session
    empty = TrueVenue()

    found = reconcile(book, held, empty, AT)
    assert [each.client_order_id for each in found.unknown] == [order_id]
    assert book.orders[order_id].status is OrderStatus.SUBMITTED
    book.move(order_id, OrderStatus.ACCEPTED)
    assert reconcile(book, held, empty, AT).lost == [order_id]
    assert empty.orders == {}


def test_B15_trade_by_hand_is_adopted_and_told(session: Session) -> None:
    book, held, venue, _ = session
    venue.trade_by_hand("QQQ", Decimal(-3))

    found = reconcile(book, held, venue, AT)
    assert held.units("QQQ") == -3
    assert [alert for _, alert in found.alerts] == [BookAlert.EXTERNAL]
    assert found.drift == {}


def test_B14_units_without_a_fill_are_drift(session: Session) -> None:
    book, held, venue, _ = session
    venue.held["IWM"] = Decimal(7)

    found = reconcile(book, held, venue, AT)
    assert found.drift == {"IWM": Decimal(-7)}
    assert not found.is_clean


def test_open_order_of_others_is_external(session: Session) -> None:
    book, held, venue, order_id = session
    found_order = venue.find_order(order_id)
    assert found_order is not None
    theirs: BrokerOrder = replace(found_order, client_order_id="theirs")
    venue.open_orders = lambda: (theirs,)  # type: ignore[method-assign]

    assert reconcile(book, held, venue, AT).external == [theirs]


def test_B28_bust_whose_message_was_lost_is_found(session: Session) -> None:
    book, held, venue, order_id = session
    venue.execute(order_id, Decimal(10))
    reconcile(book, held, venue, AT)
    venue.take_back(next(iter(venue.executions.values())))

    found = reconcile(book, held, venue, AT)
    assert (order_id, BookAlert.BUSTED) in found.alerts
    assert (held.units("SPY"), held.cash_ccy) == (0, CASH)
    assert book.orders[order_id].status is OrderStatus.CANCELLED


@pytest.mark.parametrize("question", ["fills", "find_orders", "open_orders", "positions"])
def test_B14_venue_that_cannot_be_asked_is_not_guessed(session: Session, question: str) -> None:
    book, held, venue, order_id = session

    def down(*_: object) -> None:
        raise BrokerUnavailableError("the venue must answer", was="timeout")

    setattr(venue, question, down)
    with pytest.raises(BrokerUnavailableError):
        reconcile(book, held, venue, AT)
    assert book.orders[order_id].status.is_at_venue
