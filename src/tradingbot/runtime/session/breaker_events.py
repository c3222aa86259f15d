"""Breakers as a fold of events: the same when they happen and when a journal is read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertRaised
from tradingbot.domain.events.trading import OrderFilled, OrderRejected
from tradingbot.runtime.breaker import (
    record_execution,
    record_overfill,
    record_rejection,
    start_day,
)
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.session.desk_events import OVERFILLED


def count_events(
    gate: SessionGate, day_of: Callable[[datetime], date], events: Iterable[Event]
) -> None:
    """Tell the breakers of a gate of fills, rejections and overfills of its orders.

    Args:
        gate: With the book that has the orders.
        day_of: Day of trading that a moment belongs to.
        events: As the journal holds them, in order; others change nothing.
    """
    limits, orders = gate.session_limits, gate.book.orders
    assert limits is not None
    for event in events:
        if isinstance(event, OrderFilled) and event.fill.client_order_id in orders:
            fill = event.fill
            is_first = orders[fill.client_order_id].fills[:1] == (fill,)
            began = start_day(gate.breakers, day_of(fill.filled_at))
            key, at = f"{fill.symbol} {fill.side.value}", fill.filled_at
            gate.breakers = record_execution(began, limits, key, at, is_first=is_first)
        elif isinstance(event, OrderRejected):
            gate.breakers = record_rejection(gate.breakers)
        elif isinstance(event, AlertRaised) and event.code == OVERFILLED:
            gate.breakers = record_overfill(gate.breakers)
