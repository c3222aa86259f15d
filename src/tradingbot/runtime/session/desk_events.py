"""Events that a desk writes of its orders: fills, answers, ends, alerts, and what undoes a fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import (
    FillBusted,
    FillChange,
    OrderAccepted,
    OrderCancelled,
    OrderExpired,
    OrderFilled,
    OrderRejected,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.order_book import BookAlert

_S = OrderStatus
OVERFILLED = BookAlert.OVERFILL.value.upper()
"""Code of the alert of an order that filled more than it asked for."""


def reverse_fill(fill: Fill) -> Fill:
    """Return what undoes a fill in an account."""
    side = Side.SELL if fill.side is Side.BUY else Side.BUY
    return replace(fill, fill_id=f"{fill.fill_id}.busted", side=side, fee_ccy=-fill.fee_ccy)


def booking_of(change: FillChange) -> Fill:
    """Return what an account books of a change: the fill, or what undoes it."""
    return reverse_fill(change.fill) if isinstance(change, FillBusted) else change.fill


def alert_of_order(alert: BookAlert, identity: str, at: datetime) -> AlertRaised:
    """Return what is told of an order that did the unexpected."""
    level = AlertLevel.CRITICAL if alert is BookAlert.OVERFILL else AlertLevel.WARNING
    return AlertRaised(at, level, alert.value.upper(), f"order {identity}: {alert.value}")


def drift_key(drift: tuple[str, Decimal]) -> tuple[str, str]:
    """Return what a difference is known by: it is told once."""
    return drift[0], str(drift[1])


def alert_of_drift(symbol: str, units: Decimal, at: datetime) -> AlertRaised:
    """Return what is told where the venue holds other units."""
    told = f"ours less the venue's: {units:+f} units"
    return AlertRaised(at, AlertLevel.CRITICAL, "POSITION_DRIFT", told, symbol)


def answer_of(order: Order, at: datetime) -> Event:
    """Return how a submit ended."""
    who = (order.client_order_id, order.intent.symbol, at)
    if order.status is _S.REJECTED:
        return OrderRejected(*who, order.reason or "the venue gave no reason")
    return OrderAccepted(*who, order.venue_order_id or "")


def ending_of(order: Order, at: datetime) -> Event | None:
    """Return the event of an order that ended otherwise than filled; None where it did not."""
    who = (order.client_order_id, order.intent.symbol, at)
    if order.status is _S.CANCELLED:
        return OrderCancelled(*who, order.filled_units)
    if order.status is _S.EXPIRED:
        return OrderExpired(*who, order.filled_units)
    if order.status is _S.REJECTED:
        return OrderRejected(*who, order.reason or "the venue gave no reason")
    return None


def list_fills(new: Sequence[Fill], orders: Mapping[str, Order]) -> list[OrderFilled]:
    """Return the events of fills, with what each of them leaves of its order.

    Args:
        new: In the order of booking.
        orders: By client order id, with these fills.
    """
    events: list[OrderFilled] = []
    filled: dict[str, Decimal] = {}
    for fill in new:
        order = orders.get(fill.client_order_id)
        wanted = fill.quantity_units if order is None else order.intent.quantity_units
        if fill.client_order_id not in filled and order is not None:
            earlier = (each for each in order.fills if each not in new)
            filled[fill.client_order_id] = sum(
                (each.quantity_units for each in earlier), Decimal(0)
            )
        total = filled.get(fill.client_order_id, Decimal(0)) + fill.quantity_units
        filled[fill.client_order_id] = total
        events.append(OrderFilled(fill, max(wanted - total, Decimal(0))))
    return events
