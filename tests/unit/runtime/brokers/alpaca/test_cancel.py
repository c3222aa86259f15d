"""Cancels: read back where the answer was lost or refused, and never behind the orders."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from fakes.alpaca import VenueOptions
from fixtures.alpaca_broker import numbered, patience_for, send, traded
from fixtures.order_records import AT, intent
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.runtime.brokers.protocol import SubmitOutcome
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.cancels import cancel_all
from tradingbot.runtime.session.desk import Desk

BY_HAND = VenueOptions(fills="by_hand")
ID = intent().client_order_id
FAULTS = ("drop_before", "drop_after", "hang_after", "500", "502_html_after", "504_after", "429")


@pytest.mark.parametrize("fault", FAULTS)
def test_lost_answer_of_a_cancel_is_read_back(fault: str) -> None:
    with traded(BY_HAND, **patience_for(fault)) as (fake, broker):
        send(broker, intent())
        fake.do(faults={"next": [{"operation": "cancel", "fault": fault}]})

        report = broker.cancel(ID)

        assert report.outcome is SubmitOutcome.ACCEPTED
        assert fake.state()["orders"][0]["status"] == "canceled"


def test_B30_cancel_of_a_filled_order_says_so() -> None:
    with traded() as (_, broker):
        send(broker, intent())

        report = broker.cancel(ID)

        assert (report.outcome, report.code) == (SubmitOutcome.REJECTED, "not_cancelable")
        assert "filled" in (report.reason or "")


def test_B30_order_that_fills_between_look_and_cancel_is_read_back() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        cancel = broker._wire.cancel

        def fill_first(venue_order_id: str) -> None:
            fake.do(execute={"client_order_id": ID, "qty": 10, "price": 100})
            cancel(venue_order_id)

        broker._wire.cancel = fill_first  # type: ignore[method-assign]

        report = broker.cancel(ID)

        assert (report.outcome, report.code) == (SubmitOutcome.REJECTED, "not_cancelable")


def test_B30_cancel_all_in_parts_retries_what_is_open() -> None:
    with traded(BY_HAND) as (fake, broker):
        for k in range(5):
            send(broker, numbered(k))
        fake.do(faults={"next": [{"operation": "cancel", "fault": "500", "times": 2}]})

        assert broker.cancel_all() == ()

        assert {row["status"] for row in fake.state()["orders"]} == {"canceled"}
        assert fake.plan.counts == {"500": 2}


def test_B30_cancel_all_returns_what_could_not_be_cancelled() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())
        fake.do(faults={"next": [{"operation": "cancel", "fault": "500", "times": 99}]})

        (left,) = broker.cancel_all()

        assert left.client_order_id == ID


def test_B22_kill_of_a_hundred_orders_is_a_handful_of_requests(tmp_path: Path) -> None:
    opened = SessionJournal.open(tmp_path / "journal.sqlite", create=True)
    with traded(BY_HAND) as (fake, broker), closing(opened) as journal:
        for k in range(100):
            send(broker, numbered(k))
        before = fake.state()["requests"]
        desk = Desk("s", journal, broker, SessionGate(OrderBook()), Holdings(Decimal(0)))

        assert cancel_all(desk, AT) == (100, [])

        state = fake.state()
        assert {row["status"] for row in state["orders"]} == {"canceled"}
        assert sum(state["requests"].values()) - sum(before.values()) <= 4


def test_unknown_id_is_refused_and_a_silent_venue_is_unknown() -> None:
    with traded(BY_HAND) as (fake, broker):
        assert broker.cancel("never-sent").code == "unknown_order"
        send(broker, intent())
        fake.do(faults={"next": [{"operation": "find", "fault": "502_html", "times": 99}]})
        fake.do(faults={"next": [{"operation": "cancel", "fault": "drop_before"}]})
        assert broker.cancel(ID).outcome is SubmitOutcome.UNKNOWN
        with pytest.raises(BrokerUnavailableError):
            broker.find_order(ID)


def test_not_found_is_none_only_in_the_venues_own_words() -> None:
    with traded(BY_HAND) as (fake, broker):
        assert broker.find_order("never-sent") is None
        for fault in ("502_html", "cut_after", "empty_after", "drop_after"):
            fake.do(faults={"next": [{"operation": "find", "fault": fault}]})
            with pytest.raises(BrokerUnavailableError):
                broker.find_order("never-sent")


def test_cancel_of_an_order_that_is_followed_is_one_request() -> None:
    with traded(BY_HAND) as (fake, broker):
        send(broker, intent())

        assert broker.cancel(ID).outcome is SubmitOutcome.ACCEPTED

        assert "find" not in fake.state()["requests"]
        again = broker.cancel(ID)
        assert (again.outcome, again.code) == (SubmitOutcome.REJECTED, "not_cancelable")


def test_B04_cancels_have_a_lane_that_orders_leave_free() -> None:
    limits = {"requests_per_minute": 12, "reserved_for_cancels": 6, "longest_wait_s": 0.0}
    with traded(BY_HAND, **limits) as (fake, broker):
        reports = [send(broker, numbered(k)) for k in range(9)]
        taken = [each for each in reports if each.outcome is SubmitOutcome.ACCEPTED]
        assert 0 < len(taken) < 9
        assert {each.code for each in reports if each not in taken} == {"rate_limited"}

        assert broker.cancel(numbered(0).client_order_id).outcome is SubmitOutcome.ACCEPTED
        assert broker.cancel(numbered(1).client_order_id).outcome is SubmitOutcome.ACCEPTED
        assert sum(fake.state()["requests"].values()) <= 12


def test_every_open_order_is_listed_over_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    from tradingbot.runtime.brokers.alpaca import wire

    monkeypatch.setattr(wire, "_PAGE_OF_ORDERS", 3)
    options = VenueOptions(fills="by_hand", start_cash=Decimal("1e9"))
    with traded(options) as (fake, broker):
        for k in range(11):  # two at each moment: a page ends between them
            fake.do(time=f"2099-01-05T15:{k // 2:02d}:00Z")
            send(broker, numbered(k))

        assert len(broker.open_orders()) == 11
