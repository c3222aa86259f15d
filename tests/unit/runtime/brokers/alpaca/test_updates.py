"""What happened to orders, told once and right, however the stream behaves (table B)."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import (
    CREDENTIALS,
    drain_until,
    numbered,
    orders_of,
    send,
    settings_of,
    traded,
    until,
)
from fixtures.order_records import intent
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderType, TimeInForce
from tradingbot.domain.position import position_from_fills
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.brokers.protocol import BrokerUpdate, SubmitOutcome, UpdateKind

BY_HAND = VenueOptions(fills="by_hand")
ID = intent().client_order_id
K = UpdateKind


def filled_units(updates: list[BrokerUpdate]) -> Decimal:
    fills = [each.fill for each in updates if each.fill is not None]
    assert len({each.fill_id for each in fills}) == len(fills), "a fill was told twice"
    return sum((each.quantity_units for each in fills), Decimal(0))


def execute(fake: FakeAlpaca, qty: object, price: object = 100) -> None:
    fake.do(execute={"client_order_id": ID, "qty": qty, "price": price})


def test_fill_is_told_with_price_time_and_the_activitys_id() -> None:
    with traded() as (fake, broker):
        send(broker, intent())

        told = drain_until(broker, lambda so_far: filled_units(so_far) == 10)

        (row,) = fake.state()["activities"]
        (fill,) = (each.fill for each in told if each.fill is not None)
        assert (fill.fill_id, fill.price) == (row["id"], Decimal("100.1"))
        assert fill.client_order_id == ID
        assert fill == broker.fills(fill.filled_at)[0]


@pytest.mark.parametrize("ending", ["cancel", "expire"])
def test_B07_partial_fill_then_an_end_keeps_the_fill(ending: str) -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        execute(fake, 4)
        if ending == "cancel":
            assert broker.cancel(ID).outcome is SubmitOutcome.ACCEPTED
        else:
            fake.do(time="2099-01-01T00:00:00Z")
        kind = K.CANCELLED if ending == "cancel" else K.EXPIRED

        told = drain_until(broker, lambda so_far: so_far != [] and so_far[-1].kind is kind)

        assert filled_units(told) == 4
        order = broker.find_order(ID)
        assert order is not None
        assert (order.filled_units, order.is_open) == (Decimal(4), False)
        kinds = [each.kind for each in told]
        assert kinds.index(K.FILLED) < kinds.index(kind), "the fill came first"


@pytest.mark.parametrize(
    "events",
    [
        ["doubled"] * 4,
        ["swapped"] * 4,
        ["lost", "sent", "sent"],
        ["sent", "lost", "sent"],
        ["lost"] * 4,
    ],
    ids=["twice", "out of order", "before the ack", "one lost", "all lost"],
)
def test_B08_events_twice_out_of_order_or_lost_end_equal_to_the_books(events: list[str]) -> None:
    with traded(BY_HAND, resync_every_s=0.05) as (fake, broker):
        fake.do(faults={"next_events": events})
        send(broker, intent())
        execute(fake, 3)
        execute(fake, 7, "100.2")

        told = drain_until(broker, lambda so_far: filled_units(so_far) == 10)

        fills = [each.fill for each in told if each.fill is not None]
        assert tuple(fills) == broker.fills(fills[0].filled_at)
        units = position_from_fills("SPY", fills).units
        assert broker.positions() == {"SPY": units}


def test_B08_storm_of_stream_faults_ends_equal_to_the_books() -> None:
    plan = FaultPlan(requests_per_minute=None, lost=0.2, doubled=0.2, swapped=0.2)
    options = VenueOptions(partial_share=0.5, seed=3)
    with traded(options, plan, resync_every_s=0.1) as (fake, broker):
        wanted = [numbered(k, "7") for k in range(30)]
        told: list[BrokerUpdate] = []
        for each in wanted:
            send(broker, each)
            told.extend(broker.drain_updates())
        for _ in range(40):
            fake.do(tick=True)

        def is_whole() -> bool:
            told.extend(broker.drain_updates())
            return filled_units(told) == 210

        until(is_whole)
        state = fake.state()
        assert len(state["activities"]) > 30, "some must have been partial"
        assert Counter(each.client_order_id for each in told if each.fill) == Counter(
            _client_ids(state)
        )


def _client_ids(state: dict[str, list[dict[str, str]]]) -> list[str]:
    by_id = {row["id"]: row["client_order_id"] for row in state["orders"]}
    return [by_id[row["order_id"]] for row in state["activities"]]


def test_B09_late_fill_after_a_confirmed_cancel_is_told() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        broker.cancel(ID)
        drain_until(broker, lambda so_far: so_far != [] and so_far[-1].kind is K.CANCELLED)

        execute(fake, 4)

        told = drain_until(broker, lambda so_far: filled_units(so_far) == 4)
        assert [each.kind for each in told if each.fill] == [K.FILLED]
        assert broker.positions() == {"SPY": Decimal(4)}


def test_B10_overfill_is_told_as_it_is() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        execute(fake, 10)
        execute(fake, 2)

        told = drain_until(broker, lambda so_far: filled_units(so_far) == 12)

        order = broker.find_order(ID)
        assert order is not None
        assert order.filled_units == filled_units(told) == Decimal(12) > order.quantity_units


def test_B11_unknown_event_and_status_are_told_as_unknown() -> None:
    with traded(BY_HAND, resync_every_s=0.05) as (fake, broker):
        send(broker, intent())
        fake.do(show_status={ID: "quantum_hold"})
        fake.call(
            lambda: fake.venue._emit("quantum_leap", fake.venue.find_by_client_id(ID), extra={})
        )

        told = drain_until(
            broker, lambda so_far: sum(each.kind is K.UNKNOWN for each in so_far) >= 2
        )

        assert any("quantum_leap" in (each.reason or "") for each in told)


def test_B11_event_that_cannot_be_read_calls_for_the_books() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        drain_until(broker, lambda so_far: so_far != [])
        fake.do(faults={"next_events": ["lost"]})
        execute(fake, 10)
        nonsense = {"stream": "trade_updates", "data": {"event": "fill", "order": None}}
        fake.call(lambda: fake.desk.tell(lambda: nonsense))

        drain_until(broker, lambda so_far: filled_units(so_far) == 10)


def test_B12_stream_that_is_down_is_said_and_the_books_are_polled() -> None:
    """What the gate then refuses is `BROKER_DISCONNECTED`."""
    with traded(BY_HAND) as (fake, broker):
        assert broker.disconnected_s() == 0.0
        send(broker, intent())
        fake.do(faults={"refuses_streams": True})
        fake.drop_streams()
        until(lambda: broker.disconnected_s() > 0.05)
        execute(fake, 4)
        drain_until(broker, lambda so_far: filled_units(so_far) == 4)
        before = broker._stream.connections
        execute(fake, 6)

        fake.do(faults={"refuses_streams": False})
        until(lambda: broker._stream.connections > before)

        assert broker.disconnected_s() == 0.0
        drain_until(broker, lambda so_far: filled_units(so_far) == 6)


def test_B12_reconnection_reads_the_books_once() -> None:
    with traded(BY_HAND, poll_every_s=60.0) as (fake, broker):
        send(broker, intent())
        drain_until(broker, lambda so_far: so_far != [])
        before = broker._stream.connections
        fake.do(faults={"next_events": ["lost"]})
        execute(fake, 10)  # nothing says so
        fake.drop_streams()
        until(lambda: broker._stream.connections > before)

        drain_until(broker, lambda so_far: filled_units(so_far) == 10)
        asked = fake.state()["requests"]["activities"]
        for _ in range(20):
            broker.drain_updates()
        assert fake.state()["requests"]["activities"] == asked, "nothing more to read"


def test_failing_books_are_not_stormed() -> None:
    with traded(BY_HAND, poll_every_s=60.0) as (fake, broker):
        send(broker, intent())
        drain_until(broker, lambda so_far: so_far != [])
        fake.do(faults={"next": [{"operation": "activities", "fault": "502_html", "times": 999}]})
        execute(fake, 10)
        until(lambda: broker.drain_updates() == () and "502_html" in fake.plan.counts)
        for _ in range(50):
            broker.drain_updates()
        assert fake.plan.counts["502_html"] <= 2


def test_B31_revoked_key_stops_without_a_storm() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        fake.do(faults={"is_revoked": True})
        fake.drop_streams()
        until(lambda: broker._stream.is_key_refused)

        assert broker.disconnected_s() == math.inf, "nothing may be opened any more"
        first = send(broker, numbered(1))
        for k in range(2, 12):
            assert send(broker, numbered(k)).code == "key_refused"
            broker.drain_updates()
        assert (first.outcome, first.code) == (SubmitOutcome.REJECTED, "key_refused")
        assert broker.cancel(ID).outcome is SubmitOutcome.REJECTED
        assert fake.desk.refused_streams == 2, "two attempts, then no more"
        assert sum(fake.state()["requests"].values()) < 12, "a refused key is not tried again"


def test_fill_of_an_order_from_before_a_restart_is_told_when_it_is_found() -> None:
    with FakeAlpaca(BY_HAND) as fake:
        fake.do(quotes={"SPY": ["100", "100.1"]})
        with AlpacaBroker(CREDENTIALS, settings_of(fake)) as broker:
            send(broker, intent())
        execute(fake, 4)
        with AlpacaBroker(CREDENTIALS, settings_of(fake)) as broker:
            assert broker.find_order(ID) is not None
            told = drain_until(broker, lambda so_far: filled_units(so_far) == 4)
            execute(fake, 6)
            told += drain_until(broker, lambda so_far: filled_units(so_far) == 6)
        assert filled_units(told) == 10


def test_limit_order_fills_at_its_price_or_better() -> None:
    with traded() as (fake, broker):
        wanted = intent(order_type=OrderType.LIMIT, limit_price=Decimal("99.5"))
        send(broker, wanted)
        assert broker.positions() == {}
        fake.do(quotes={"SPY": ["99.3", "99.4"]})
        drain_until(broker, lambda so_far: filled_units(so_far) == 10)
        assert orders_of(fake, wanted)[0]["filled_avg_price"] == "99.4"


def test_immediate_or_cancel_that_cannot_fill_is_cancelled() -> None:
    with traded() as (_, broker):
        wanted = intent(
            order_type=OrderType.LIMIT,
            limit_price=Decimal("99.5"),
            time_in_force=TimeInForce.IMMEDIATE_OR_CANCEL,
        )
        send(broker, wanted)
        told = drain_until(broker, lambda so_far: len(so_far) >= 2)
        assert told[-1].kind is K.CANCELLED
        order = broker.find_order(wanted.client_order_id)
        assert order is not None
        assert order.status is OrderStatus.CANCELLED


def test_end_of_an_order_waits_for_its_fills() -> None:
    """Else the book would call a fill late that came before the cancel."""
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        drain_until(broker, lambda so_far: so_far != [])
        fake.do(faults={"next": [{"operation": "activities", "fault": "500", "times": 3}]})
        execute(fake, 4)
        broker.cancel(ID)

        told = drain_until(broker, lambda so_far: filled_units(so_far) == 4)

        kinds = [each.kind for each in told if each.kind is not K.ACCEPTED]
        kinds += [] if K.CANCELLED in kinds else [each.kind for each in broker.drain_updates()]
        assert kinds == [K.FILLED, K.CANCELLED]
        assert fake.plan.counts["500"] == 3


def test_fill_that_the_activities_list_late_is_told() -> None:
    with traded(BY_HAND) as (fake, broker):
        fake.do(time="2099-01-05T15:00:00Z")
        send(broker, intent())
        execute(fake, 3)
        (late,) = fake.call(lambda: [fake.venue.activities.pop()])
        fake.do(time="2099-01-05T15:30:00Z")
        execute(fake, 7)
        drain_until(broker, lambda so_far: filled_units(so_far) == 7)

        fake.call(lambda: fake.venue.activities.insert(0, late))

        drain_until(broker, lambda so_far: filled_units(so_far) == 3)
