"""What a settlement takes over, and what it leaves for a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pytest

from fixtures.replayed_sessions import (
    FIRST,
    NAME,
    SYMBOLS,
    OpenSession,
    bust_last_fill,
    open_session,
)
from tradingbot.domain.events.session import AlertRaised
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.breaker import Breaker, list_tripped
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import (
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
)
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.loop import require_positions


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


def test_B09_overfill_trips_and_counts_over_restarts(tmp_path: Path) -> None:
    limits = WIDEST_SESSION_LIMITS
    opened = open_session(tmp_path).run(until=FIRST + 2)
    real = PaperBroker.fills
    (filled, *_) = opened.journal.fills(NAME)
    more = replace(filled, fill_id="one-more", quantity_units=Decimal(1))

    def fills(self: PaperBroker, since: datetime) -> tuple[Fill, ...]:
        return (*real(self, since), more)

    for _ in range(3):  # as it happens, and told again after each restart
        with mock.patch.object(PaperBroker, "fills", fills):
            opened.session.take_over(opened.session.bar.closed_at)
        assert opened.session.desk.gate.breakers.overfills == 1
        assert Breaker.OVERFILL in list_tripped(opened.session.desk.gate.breakers, limits)
        opened.close()
        opened = open_session(tmp_path)
        opened.session.resume()
        assert opened.session.desk.gate.breakers.overfills == 1
    opened.close()


def test_B28_busted_fill_leaves_accounts_and_venue_with_the_same_units(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 3)
    bust_last_fill(opened)
    (undone,) = opened.session.unbooked
    opened.run(until=FIRST + 4)
    held = opened.broker.positions()
    booked = dict(zip(SYMBOLS, opened.session.account.units.tolist(), strict=True))
    opened.close()

    assert undone.quantity_units > 0
    for symbol, units in booked.items():
        assert abs(units - float(held.get(symbol, 0))) < 1e-9, symbol


def test_P04_process_killed_between_fill_and_settlement_starts_again(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    whole = open_session(folders[0], stop=FIRST + 6).run()
    whole.close()
    cut = open_session(folders[1], stop=FIRST + 6).run(until=FIRST + 2)
    killed = mock.patch.object(Desk, "settle", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # the venue filled; nobody was told
        cut.run()
    cut.close()
    again = open_session(folders[1], stop=FIRST + 6)
    again.session.resume()
    again.session.take_over(again.session.bar.closed_at)
    require_positions(again.session)  # as every start does
    again.run().close()

    assert again.session.equity_ccy == whole.session.equity_ccy
