"""The life of an order: legal steps, fills that replay, cross or exceed, stable ids."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from fixtures.order_records import AT, accepted, fill, intent
from tradingbot.domain.errors import DataError, TradingError
from tradingbot.domain.order import NEXT_STATUSES, Order, OrderStatus, move_order, record_fill
from tradingbot.domain.order_intent import MAX_ID_LENGTH, OrderType, Side, client_order_id

S = OrderStatus
PATHS = {
    "denied": (S.INTENDED, S.DENIED),
    "rejected": (S.INTENDED, S.APPROVED, S.SUBMITTED, S.REJECTED),
    "cancelled": (S.INTENDED, S.APPROVED, S.SUBMITTED, S.ACCEPTED, S.PENDING_CANCEL, S.CANCELLED),
    "cancel refused": (S.INTENDED, S.APPROVED, S.SUBMITTED, S.PENDING_CANCEL, S.ACCEPTED),
    "expired": (S.INTENDED, S.APPROVED, S.SUBMITTED, S.ACCEPTED, S.EXPIRED),
}
KEY: dict[str, Any] = {"decided_at": AT, "symbol": "SPY", "model": "5f3a", "sequence": 0}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_lawful_lives(path: tuple[OrderStatus, ...]) -> None:
    order = Order(intent())
    for before, after in pairwise(path):
        assert order.status is before
        order = move_order(order, after, reason="MAX_POSITION: limit=1 observed=2")
    assert order.status is path[-1]
    assert order.status.is_final == (path[-1] is not S.ACCEPTED)


@pytest.mark.parametrize(
    ("before", "after"),
    [(before, after) for before in S for after in S if after not in NEXT_STATUSES[before]],
)
def test_every_other_step_is_refused_and_says_what_may_follow(
    before: OrderStatus, after: OrderStatus
) -> None:
    units = "10" if before is S.FILLED else "4" if before is S.PARTIALLY_FILLED else None
    order = accepted()
    fills = () if units is None else (fill(order, units),)
    order = Order(intent(), before, fills, reason="why")

    with pytest.raises(TradingError, match=f"must be able to follow {before.value}") as e:
        move_order(order, after, reason="why")

    assert order.client_order_id in str(e.value)
    for name in NEXT_STATUSES[before]:
        assert name.value in str(e.value.remedy)


def test_the_five_ends_are_five_words_and_only_ends_are_final() -> None:
    final = {status for status in S if status.is_final}

    assert final == {S.DENIED, S.REJECTED, S.CANCELLED, S.EXPIRED, S.FILLED}
    assert all(NEXT_STATUSES[status] <= set(S) for status in S)


def test_denial_and_rejection_must_say_why() -> None:
    with pytest.raises(TradingError, match="denied must say why"):
        move_order(Order(intent()), S.DENIED)


def test_fills_add_up_to_the_order() -> None:
    order = accepted("10")
    assert order.open_units == 10

    partly = record_fill(order, fill(order, "4", price=Decimal("100")))
    assert (partly.status, partly.open_units) == (S.PARTIALLY_FILLED, Decimal(6))
    whole = record_fill(partly, fill(order, "6", fill_id="f2", price=Decimal("101")))

    assert (whole.status, whole.open_units, whole.filled_units) == (S.FILLED, 0, 10)
    assert whole.average_price == Decimal("100.6")
    assert order.fills == ()  # what was handed in is as it was


def test_open_units_of_a_sale_are_negative_and_count_from_the_moment_of_sending() -> None:
    order = move_order(Order(intent("3", Side.SELL)), S.APPROVED)
    assert order.open_units == 0

    assert move_order(order, S.SUBMITTED).open_units == -3


def test_replayed_fill_counts_once_and_another_with_its_id_is_refused() -> None:
    order = accepted()
    once = record_fill(order, fill(order, "4"))

    assert record_fill(once, fill(order, "4")) is once
    with pytest.raises(TradingError, match="fill_id must name one fill"):
        record_fill(once, fill(order, "5"))


def test_fill_before_the_answer_or_across_a_cancel_is_booked() -> None:
    sent = move_order(move_order(Order(intent()), S.APPROVED), S.SUBMITTED)
    assert record_fill(sent, fill(sent, "4")).status is S.PARTIALLY_FILLED

    pending = move_order(accepted(), S.PENDING_CANCEL)
    crossed = record_fill(pending, fill(pending, "4"))
    assert (crossed.status, crossed.filled_units) == (S.PENDING_CANCEL, 4)
    # The venue refuses the cancel: the order works on, with what was filled of it.
    assert move_order(crossed, S.ACCEPTED).status is S.PARTIALLY_FILLED
    cancelled = move_order(crossed, S.CANCELLED)
    late = record_fill(cancelled, fill(pending, "3", fill_id="f2"))
    assert (late.status, late.filled_units) == (S.CANCELLED, 7)
    assert record_fill(late, fill(pending, "3", fill_id="f3")).status is S.FILLED


def test_impossible_fills_are_refused() -> None:
    order = accepted("10")
    with pytest.raises(TradingError, match="must not exceed the order, was 11 of 10"):
        record_fill(order, fill(order, "11"))
    with pytest.raises(TradingError, match="order's id, symbol and side"):
        record_fill(order, fill(order, "1", side=Side.SELL))
    with pytest.raises(TradingError, match="intended must not fill"):
        record_fill(Order(intent()), fill(order, "1"))
    with pytest.raises(TradingError, match="when all of its units are"):
        move_order(order, S.FILLED)  # without the fill


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"quantity_units": Decimal(0)}, "quantity_units must be finite and above 0, was 0"),
        ({"quantity_units": Decimal("NaN")}, "quantity_units must be finite and above 0"),
        ({"quantity_units": Decimal("1e-10")}, "at most 9 decimals"),
        ({"quantity_units": 1.5}, r'must be a Decimal, was 1.5 .*Write Decimal\("0.1"\)'),
        ({"decided_at": datetime(2026, 1, 5)}, "decided_at must have a time zone"),  # noqa: DTZ001
        ({"model": " "}, "model must be named"),
        ({"sequence": -1}, "sequence must be 0 or more"),
        ({"limit_price": Decimal(5)}, "limit_price must be given for a limit order and for no"),
        ({"order_type": OrderType.LIMIT}, "limit order with limit_price None"),
        ({"confidence": 1.2}, r"confidence must lie in \[0, 1\]"),
    ],
)
def test_intent_that_is_none_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TradingError, match=message):
        intent(**fields)


def test_symbol_of_an_intent_must_be_one() -> None:
    with pytest.raises(DataError, match="symbol must be"):
        intent(symbol="../etc")


def test_content_key_names_what_is_asked_for_and_not_when() -> None:
    first, second = intent("1.50"), intent("1.5", decided_at=AT + timedelta(hours=1))

    assert first.content_key == second.content_key == "SPY buy 1.5 market"
    assert first.client_order_id != second.client_order_id


def test_id_is_the_same_for_the_same_decision_in_any_process_and_zone() -> None:
    eastern = AT.astimezone(timezone(timedelta(hours=-5)))
    code = (
        "from datetime import UTC, datetime\n"
        "from tradingbot.domain.order_intent import client_order_id\n"
        "print(client_order_id(decided_at=datetime(2026, 1, 5, 15, 30, tzinfo=UTC),"
        " symbol='SPY', model='5f3a', sequence=0))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()

    assert client_order_id(**{**KEY, "decided_at": eastern}) == client_order_id(**KEY) == told
    assert intent("99").client_order_id == told  # a decision has one order, whatever its size


@pytest.mark.parametrize(
    "change",
    [
        {"decided_at": AT + timedelta(microseconds=1)},
        {"symbol": "QQQ"},
        {"model": "5f3b"},
        {"sequence": 1},
        {"symbol": "SPY5", "model": "f3a"},  # parts must not run into each other
    ],
)
def test_another_decision_has_another_id(change: dict[str, Any]) -> None:
    assert client_order_id(**{**KEY, **change}) != client_order_id(**KEY)


def test_ids_are_short_enough_plain_and_distinct() -> None:
    ids = {
        client_order_id(
            decided_at=AT.astimezone(UTC), symbol=f"S{n:03d}", model="m" * 200, sequence=k
        )
        for n in range(143)
        for k in range(20)
    }

    assert len(ids) == 143 * 20
    assert max(map(len, ids)) <= MAX_ID_LENGTH
    assert all(each.replace("-", "").isalnum() for each in ids)
