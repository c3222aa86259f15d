"""Rows of the paper broker's file as what they are: orders, fills, moments."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.protocol import BrokerOrder


class WorkingOrder(NamedTuple):
    """An order that may still fill."""

    client_order_id: str
    symbol: str
    side: Side
    units: Decimal
    """That are left, above 0."""
    limit_price: Decimal | None
    lapses: bool
    """Whether what a bar leaves of it expires."""


def read_order(row: tuple[Any, ...]) -> BrokerOrder:
    """Read a row of `tables.ORDER_COLUMNS`."""
    order_id, symbol, side, units, filled, spent, status, at = row
    average = Decimal(spent) / Decimal(filled) if Decimal(filled) else None
    return BrokerOrder(
        order_id,
        f"paper-{order_id}",
        symbol,
        Side(side),
        Decimal(units),
        Decimal(filled),
        average,
        OrderStatus(status),
        moment_of(at),
    )


def read_fill(row: tuple[Any, ...]) -> Fill:
    """Read a row of `tables.FILL_COLUMNS`."""
    fill_id, order_id, symbol, side, units, price, at, fee = row
    numbers = (Decimal(units), Decimal(price))
    told = (fill_id, order_id, symbol, Side(side))
    return Fill(*told, *numbers, moment_of(at), fee_ccy=Decimal(fee))


def text_of(moment: datetime) -> str:
    """Write a moment so that texts sort as moments do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(text: str) -> datetime:
    """Read what `text_of` wrote."""
    return datetime.fromisoformat(text)
