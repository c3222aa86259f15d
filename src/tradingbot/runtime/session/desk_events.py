"""Events that a desk writes of its orders: fills, answers, ends, alerts, and what undoes a fill."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import (
    FillBusted,
    OrderAccepted,
    OrderCancelled,
    OrderExpired,
    OrderFilled,
    OrderRejected,
    PositionChange,
    StockSplitApplied,
)
from tradingbot.domain.exact_number import add, divide, multiply
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.order_book import BookAlert
from tradingbot.runtime.stock_split import UNIT_STEP, StockSplit, split_of

_S = OrderStatus
OVERFILLED = BookAlert.OVERFILL.value.upper()
"""Code of the alert of an order that filled more than it asked for."""


def reverse_fill(fill: Fill, splits: Sequence[StockSplit] = ()) -> Fill:
    """Return what undoes a fill in an account that counts in units after the splits since then."""
    side = Side.SELL if fill.side is Side.BUY else Side.BUY
    for split in splits:
        fill = split_fill(fill, split)
    return replace(fill, fill_id=f"{fill.fill_id}.busted", side=side, fee_ccy=-fill.fee_ccy)


def booking_of(change: PositionChange) -> Fill | None:
    """Return what an account books of a change: the fill, what undoes it, a fraction's cash."""
    if isinstance(change, StockSplitApplied):
        return _sale_of_fraction(change)
    return reverse_fill(change.fill) if isinstance(change, FillBusted) else change.fill


def _sale_of_fraction(split: StockSplitApplied) -> Fill | None:
    """Return the units that a venue paid for at a split, as a fill that makes its cash exactly."""
    units = abs(split.paid_units)
    if not units:
        return None
    side = Side.SELL if split.paid_units > 0 else Side.BUY
    price = max(divide(abs(split.cash_ccy), units).quantize(UNIT_STEP), UNIT_STEP)
    name = f"split {split.symbol} {split.at.isoformat()}"
    fee = add(-side.sign * multiply(units, price), -split.cash_ccy).quantize(UNIT_STEP)
    return Fill(name, name, split.symbol, side, units, price, split.at, fee)


def split_fill(fill: Fill, split: StockSplit) -> Fill:
    """Return a fill from before a split in the units after it."""
    if fill.symbol != split.symbol:
        return fill
    units = max(split.units(fill.quantity_units), UNIT_STEP)
    return replace(fill, quantity_units=units, price=split.price(fill.price))


def list_bookings(
    changes: Sequence[PositionChange],
    ours: Container[str],
    undone: Mapping[str, Sequence[StockSplit]],
) -> tuple[Fill, ...]:
    """Return what accounts book of changes, in units after the last split of them.

    Args:
        changes: In their order.
        ours: Ids of the session's orders; fills of others are not booked.
        undone: Id of a busted fill → splits that came between it and its bust.
    """
    waiting: list[Fill] = []
    for change in changes:
        booking, is_ours = booking_of(change), True
        if isinstance(change, StockSplitApplied):
            waiting = [split_fill(each, split_of(change)) for each in waiting]
        else:
            is_ours = change.fill.client_order_id in ours
        if isinstance(change, FillBusted):
            booking = reverse_fill(change.fill, undone.get(change.fill.fill_id, ()))
        if booking is not None and is_ours:
            waiting.append(booking)
    return tuple(waiting)


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
