"""What a settlement leaves for a person: orders that the venue lost or cannot name the state of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.events.session import AlertRaised
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import (
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
)


def look_ups(opened: OpenSession) -> list[str]:
    alerts = opened.journal.events(NAME, AlertRaised)
    return [
        each.text for each in alerts if isinstance(each, AlertRaised) and each.code == "LOOK_UP"
    ]


@pytest.mark.parametrize("is_lost", [True, False])
def test_B11_order_that_a_look_up_leaves_unclear_is_told_once(
    tmp_path: Path, is_lost: bool
) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 1)
    desk, at = opened.session.desk, opened.session.bar.closed_at
    unclear, *_ = opened.broker.open_orders()
    find = PaperBroker.find_orders

    def find_orders(self: PaperBroker, ids: list[str]) -> dict[str, BrokerOrder]:
        found = find(self, ids)
        order = found.pop(unclear.client_order_id)
        return found if is_lost else {**found, order.client_order_id: replace(order, status=None)}

    with mock.patch.object(PaperBroker, "find_orders", find_orders):
        for _ in range(2):
            desk.settle(at, at)
    told, status = look_ups(opened), desk.gate.book.orders[unclear.client_order_id].status
    opened.close()

    assert told == [f"order {unclear.client_order_id}: look_up"]
    assert status is OrderStatus.ACCEPTED  # nothing is guessed


def test_B11_report_that_a_look_up_clears_is_not_told(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 1)
    at, (order, *_) = opened.session.bar.closed_at, opened.broker.open_orders()
    odd = BrokerUpdate(UpdateKind.UNKNOWN, order.client_order_id, at)
    with mock.patch.object(PaperBroker, "drain_updates", return_value=(odd,)):
        opened.session.desk.settle(at, at)
    told = look_ups(opened)
    opened.close()

    assert told == []


def test_B10_orders_that_never_arrived_expire_when_their_bar_has_passed(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST)
    lost = SubmitReport(SubmitOutcome.UNKNOWN, reason="no answer")
    with mock.patch.object(PaperBroker, "submit", return_value=lost):
        opened.run(until=FIRST + 1)
    sent = [each for each in opened.journal.orders(NAME) if each.status is OrderStatus.SUBMITTED]
    opened.run(until=FIRST + 2)
    later = {each.client_order_id: each.status for each in opened.journal.orders(NAME)}
    book = opened.session.desk.gate.book
    opened.close()

    assert sent
    for order in sent:
        assert later[order.client_order_id] is OrderStatus.EXPIRED
        assert book.orders[order.client_order_id].status is OrderStatus.EXPIRED
