"""Orders as a venue reports them: twice, late, out of order, too much, taken back, not ours."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import permutations

import pytest

from fixtures.order_records import AT, fill
from fixtures.session_orders import sale, wanted
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.protocol import (
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
)
from tradingbot.runtime.order_book import BookAlert, OrderBook, open_order

S, K, A = OrderStatus, UpdateKind, BookAlert


def book_with(status: OrderStatus = S.ACCEPTED, units: str = "10") -> tuple[OrderBook, str]:
    book = OrderBook()
    order = open_order(wanted(units=units))
    book.add(order)
    for each in (S.SUBMITTED, S.ACCEPTED, S.PENDING_CANCEL):
        if book.orders[order.client_order_id].status is status:
            break
        book.move(order.client_order_id, each)
    return book, order.client_order_id


def update(kind: UpdateKind, order_id: str, filled: Fill | None = None) -> BrokerUpdate:
    return BrokerUpdate(kind, order_id, AT, venue_order_id="v1", fill=filled)


def execution(book: OrderBook, order_id: str, units: str, fill_id: str = "f1") -> Fill:
    return fill(book.orders[order_id], units, fill_id=fill_id)


def at_venue(
    book: OrderBook, order_id: str, filled: str, status: OrderStatus | None, **fields: object
) -> BrokerOrder:
    order = book.orders[order_id]
    given = BrokerOrder(
        order_id,
        "v1",
        "SPY",
        order.intent.side,
        order.intent.quantity_units,
        Decimal(filled),
        None,
        status,
        AT,
    )
    return replace(given, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [K.CANCELLED, K.EXPIRED])
def test_B07_partial_fill_then_end_keeps_the_fill_and_releases_the_rest(end: UpdateKind) -> None:
    book, order_id = book_with()
    book.apply(update(K.FILLED, order_id, execution(book, order_id, "4")))
    assert book.working_units("SPY", Side.BUY) == 6

    assert book.apply(update(end, order_id)) == ()

    order = book.orders[order_id]
    assert (order.filled_units, order.status.value) == (4, end.value)
    assert book.working_units("SPY", Side.BUY) == 0
    assert not list(book.working())


def test_B08_reports_twice_and_in_any_order_end_in_the_same_state() -> None:
    ends = set()
    for order_of_events in permutations(range(4)):
        book, order_id = book_with(S.SUBMITTED)
        events = [
            update(K.ACCEPTED, order_id),
            update(K.FILLED, order_id, execution(book, order_id, "4", "f1")),
            update(K.FILLED, order_id, execution(book, order_id, "5", "f2")),
            update(K.CANCELLED, order_id),
        ]
        for index in (*order_of_events, *order_of_events):
            book.apply(events[index])
        order = book.orders[order_id]
        ends.add((order.status, order.filled_units, order.venue_order_id, len(book.fills)))

    assert ends == {(S.CANCELLED, Decimal(9), "v1", 2)}


def test_B08_end_that_is_told_before_its_fills_is_not_believed() -> None:
    book, order_id = book_with()
    ended = replace(update(K.CANCELLED, order_id), filled_units=Decimal(4))

    assert book.apply(ended) == (A.LOOK_UP,)
    assert book.working_units("SPY", Side.BUY) == 10  # the lost fill counts as open
    book.apply(update(K.FILLED, order_id, execution(book, order_id, "4")))
    assert book.apply(ended) == ()
    assert book.orders[order_id].status is S.CANCELLED


def test_fill_before_the_acknowledgement_counts_and_the_acknowledgement_changes_nothing() -> None:
    book, order_id = book_with(S.SUBMITTED)
    assert book.apply(update(K.FILLED, order_id, execution(book, order_id, "10"))) == ()
    book.apply(update(K.ACCEPTED, order_id))

    assert book.orders[order_id].status is S.FILLED


def test_B09_late_fill_after_a_cancel_is_booked_and_told() -> None:
    book, order_id = book_with(S.PENDING_CANCEL)
    book.apply(update(K.CANCELLED, order_id))

    assert book.apply(update(K.FILLED, order_id, execution(book, order_id, "3"))) == (A.LATE_FILL,)
    order = book.orders[order_id]
    assert (order.status, order.filled_units) == (S.CANCELLED, 3)


@pytest.mark.parametrize("before", ["0", "8", "10"])
def test_B10_overfill_is_booked_and_told_and_ends_the_order(before: str) -> None:
    book, order_id = book_with()
    if before != "0":
        book.apply(update(K.FILLED, order_id, execution(book, order_id, before, "f0")))

    alerts = book.apply(update(K.FILLED, order_id, execution(book, order_id, "11", "f1")))

    order = book.orders[order_id]
    assert alerts == (A.OVERFILL,)
    assert (order.status, order.filled_units) == (S.FILLED, Decimal(before) + 11)
    assert book.working_units("SPY", Side.BUY) == 0


def test_B11_report_that_is_not_understood_asks_for_a_lookup() -> None:
    book, order_id = book_with()
    before = book.orders[order_id]

    assert book.apply(update(K.UNKNOWN, order_id)) == (A.LOOK_UP,)
    assert book.adopt(at_venue(book, order_id, "0", None)) == (A.LOOK_UP,)
    assert book.orders[order_id] == replace(before, venue_order_id="v1")


def test_B15_fills_and_orders_of_others_are_kept_as_external() -> None:
    book, order_id = book_with()
    manual = Fill("m1", "by hand", "QQQ", Side.BUY, Decimal(1), Decimal(5), AT)
    wrong_side = replace(execution(book, order_id, "1", "m2"), side=Side.SELL)

    assert book.apply(update(K.FILLED, "by hand", manual)) == (A.EXTERNAL,)
    assert book.apply(update(K.CANCELLED, "by hand")) == (A.EXTERNAL,)
    assert book.book_fill(wrong_side) == (A.EXTERNAL,)
    assert set(book.fills) == {"m1", "m2"}
    found = replace(at_venue(book, order_id, "0", S.ACCEPTED), client_order_id="by hand")
    assert book.adopt(found) == (A.EXTERNAL,)


def test_fill_of_an_order_that_was_rejected_is_booked_and_told() -> None:
    book, order_id = book_with(S.SUBMITTED)
    book.answer(order_id, SubmitReport(SubmitOutcome.REJECTED, reason="no"))

    assert book.book_fill(execution(book, order_id, "2")) == (A.FILL_AFTER_END,)
    assert set(book.fills) == {"f1"}


def test_two_fills_with_one_id_that_differ_are_refused() -> None:
    book, order_id = book_with()
    book.book_fill(execution(book, order_id, "2"))
    with pytest.raises(TradingError, match="fill_id must name one fill"):
        book.book_fill(execution(book, order_id, "3"))


def test_B01_B02_lost_answer_leaves_the_order_open_until_a_lookup() -> None:
    book, order_id = book_with(S.SUBMITTED)
    book.answer(order_id, SubmitReport(SubmitOutcome.UNKNOWN, reason="504"))
    assert book.count_unanswered("SPY") == 1
    assert book.working_units("SPY", Side.BUY) == 10

    book.adopt(at_venue(book, order_id, "0", S.ACCEPTED))

    assert book.count_unanswered("SPY") == 0
    assert book.orders[order_id].status is S.ACCEPTED


def test_B13_process_that_died_before_it_wrote_that_it_sent_finds_its_order() -> None:
    for reports in ("fill", "lookup", "answer"):
        book, order_id = book_with(S.APPROVED)
        if reports == "fill":
            book.book_fill(execution(book, order_id, "4"))
        elif reports == "lookup":
            part = execution(book, order_id, "4")
            book.adopt(at_venue(book, order_id, "4", S.PARTIALLY_FILLED), [part])
        else:
            book.answer(order_id, SubmitReport(SubmitOutcome.ACCEPTED, "v1"))
        assert book.orders[order_id].status in (S.PARTIALLY_FILLED, S.ACCEPTED)
    with pytest.raises(TradingError, match="must name one order"):
        book.add(open_order(wanted()))


def test_lookup_with_lost_fills_waits_for_them() -> None:
    book, order_id = book_with()
    found = at_venue(book, order_id, "10", S.FILLED)

    assert book.adopt(found) == (A.LOOK_UP,)
    assert book.orders[order_id].status is S.ACCEPTED
    assert book.adopt(found, [execution(book, order_id, "10")]) == ()
    assert book.orders[order_id].status is S.FILLED


@pytest.mark.parametrize("status", [S.CANCELLED, S.EXPIRED, S.REJECTED])
def test_lookup_ends_an_order_with_its_fills(status: OrderStatus) -> None:
    book, order_id = book_with()
    book.adopt(at_venue(book, order_id, "0", status))
    assert book.orders[order_id].status is status

    book, order_id = book_with()
    book.adopt(at_venue(book, order_id, "4", status), [execution(book, order_id, "4")])
    expected = S.CANCELLED if status is S.REJECTED else status
    assert book.orders[order_id].status is expected


def test_B27_quantity_that_a_split_changed_is_taken_over() -> None:
    book, order_id = book_with()
    found = at_venue(book, order_id, "0", S.ACCEPTED, quantity_units=Decimal(40))

    assert book.adopt(found) == (A.RESTATED,)
    assert book.working_units("SPY", Side.BUY) == 40
    assert book.orders[order_id].client_order_id == order_id


def test_B28_busted_fill_is_taken_back_before_or_after_it_came() -> None:
    book, order_id = book_with()
    taken, kept = execution(book, order_id, "6", "f1"), execution(book, order_id, "4", "f2")
    for each in (taken, kept):
        book.apply(update(K.FILLED, order_id, each))
    assert book.orders[order_id].status is S.FILLED

    assert book.apply(update(K.BUSTED, order_id, taken)) == (A.BUSTED,)
    assert book.apply(update(K.BUSTED, order_id, taken)) == ()

    order = book.orders[order_id]
    assert (order.status, order.filled_units, set(book.fills)) == (S.CANCELLED, 4, {"f2"})
    other, its_id = book_with()
    other.apply(update(K.BUSTED, its_id, taken))
    other.apply(update(K.FILLED, its_id, taken))
    assert not other.fills
    assert other.orders[its_id].status is S.ACCEPTED


def test_bust_of_the_only_part_leaves_the_order_working() -> None:
    book, order_id = book_with()
    part = execution(book, order_id, "6")
    book.apply(update(K.FILLED, order_id, part))
    book.apply(update(K.BUSTED, order_id, part))

    assert book.orders[order_id].status is S.ACCEPTED
    assert book.working_units("SPY", Side.BUY) == 10


def test_B30_refused_cancel_leaves_the_order_as_the_venue_has_it() -> None:
    book, order_id = book_with(S.PENDING_CANCEL)
    book.apply(update(K.ACCEPTED, order_id))  # late: the cancel is still under way
    assert book.orders[order_id].status is S.PENDING_CANCEL
    book.apply(update(K.CANCEL_REFUSED, order_id))
    assert book.orders[order_id].status is S.ACCEPTED

    book.apply(update(K.FILLED, order_id, execution(book, order_id, "10")))
    book.apply(update(K.CANCEL_REFUSED, order_id))
    assert book.orders[order_id].status is S.FILLED


def test_rest_that_is_rejected_after_a_fill_counts_as_cancelled() -> None:
    book, order_id = book_with()
    book.apply(update(K.FILLED, order_id, execution(book, order_id, "4")))

    assert book.apply(update(K.REJECTED, order_id)) == (A.REJECTED_AFTER_FILL,)
    assert book.orders[order_id].status is S.CANCELLED


def test_B22_approved_order_that_is_not_sent_is_withdrawn() -> None:
    book, order_id = book_with(S.APPROVED)
    assert book.working_units("SPY", Side.BUY) == 10
    book.move(order_id, S.CANCELLED, reason="kill switch")

    assert book.working_units("SPY", Side.BUY) == 0


def test_sides_and_symbols_are_counted_apart() -> None:
    book, _ = book_with()
    book.add(open_order(sale(5, units="3")))
    book.add(open_order(wanted(6, units="7", symbol="QQQ")))

    assert book.working_units("SPY", Side.BUY) == 10
    assert book.working_units("SPY", Side.SELL) == 3
    assert book.working_units("QQQ", Side.BUY) == 7
    assert len(list(book.working())) == 3


def test_journal_gives_back_orders_with_their_fills() -> None:
    book, order_id = book_with()
    book.apply(update(K.FILLED, order_id, execution(book, order_id, "4")))
    again = OrderBook()
    stored: Order = book.orders[order_id]
    again.add(stored)

    assert again == book
    assert again.book_fill(execution(book, order_id, "4")) == ()
