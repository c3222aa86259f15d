"""Alpaca's words as records of ours: a status or an event that is not known is no error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from tradingbot.domain.errors import TradingBotError
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.alpaca.wire import AnswerLostError, wire_symbol
from tradingbot.runtime.brokers.protocol import (
    BrokerAccount,
    BrokerAsset,
    BrokerClock,
    BrokerOrder,
    BrokerUpdate,
    UpdateKind,
)

_S, _K = OrderStatus, UpdateKind
STATUSES: dict[str, OrderStatus] = {
    **dict.fromkeys(
        (
            *("new", "accepted", "pending_new", "accepted_for_bidding", "held", "stopped"),
            *("suspended", "calculated", "done_for_day", "pending_review", "pending_replace"),
        ),
        _S.ACCEPTED,
    ),
    "partially_filled": _S.PARTIALLY_FILLED,
    "pending_cancel": _S.PENDING_CANCEL,
    "filled": _S.FILLED,
    "canceled": _S.CANCELLED,
    "replaced": _S.CANCELLED,  # by an order with another id, which is not ours
    "expired": _S.EXPIRED,
    "rejected": _S.REJECTED,
}
"""Alpaca's status → ours; a word that is not here is unknown."""
EVENTS: dict[str, UpdateKind | None] = {
    **dict.fromkeys(("new", "accepted", "pending_new"), _K.ACCEPTED),
    **dict.fromkeys(("canceled", "replaced"), _K.CANCELLED),
    "expired": _K.EXPIRED,
    "rejected": _K.REJECTED,
    "order_cancel_rejected": _K.CANCEL_REFUSED,
    # They change nothing that we count, or only the fills, which are read from the activities:
    # the stream calls an execution by another id and at another moment.
    **dict.fromkeys(
        (
            *("pending_cancel", "pending_replace", "done_for_day", "calculated", "stopped"),
            *("fill", "partial_fill", "suspended", "restated", "order_replace_rejected", "held"),
        ),
        None,
    ),
}
_KINDS = {
    _S.ACCEPTED: _K.ACCEPTED,
    _S.PARTIALLY_FILLED: _K.ACCEPTED,
    _S.CANCELLED: _K.CANCELLED,
    _S.EXPIRED: _K.EXPIRED,
    _S.REJECTED: _K.REJECTED,
}
_UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, InvalidOperation, TradingBotError)
_FINEST = Decimal(1).scaleb(-MAX_DECIMALS)


class SymbolNames:
    """Alpaca's spelling → ours: `BRK.B` is `BRK-B`, unless a symbol of ours has the dot."""

    def __init__(self, symbols: Iterable[str] = ()) -> None:
        self._ours = {wire_symbol(symbol): symbol for symbol in symbols}

    def add(self, symbol: str) -> None:
        """Remember how we spell a symbol."""
        self._ours[wire_symbol(symbol)] = symbol

    def ours(self, theirs: object) -> str:
        """Return our spelling."""
        return self._ours.get(str(theirs), str(theirs).replace(".", "-"))


def read_order(body: Mapping[str, Any], names: SymbolNames) -> BrokerOrder:
    """Read an order.

    Raises:
        AnswerLostError: If it cannot be read: what the venue holds is not known.
    """
    try:
        filled = number(body.get("filled_qty") or "0")
        asked = number(body["qty"]) if body.get("qty") is not None else None
        status = STATUSES.get(str(body["status"]))
        if status is _S.ACCEPTED and filled > 0:
            status = _S.PARTIALLY_FILLED
        average = body.get("filled_avg_price")
        return BrokerOrder(
            client_order_id=str(body["client_order_id"]),
            venue_order_id=str(body["id"]),
            symbol=names.ours(body["symbol"]),
            side=Side(body["side"]),
            # An order of a sum of money, which is none of ours, has units once it fills.
            quantity_units=asked if asked is not None else max(filled, _FINEST),
            filled_units=filled,
            average_price=number(average) if average and filled else None,
            status=status,
            submitted_at=moment(body["submitted_at"]),
        )
    except _UNREADABLE as e:
        raise AnswerLostError(f"an order that cannot be read ({type(e).__name__})") from e


def read_execution(row: Mapping[str, Any], client_order_id: str, names: SymbolNames) -> Fill:
    """Read a row of the account's activities, the one source of fills.

    Raises:
        AnswerLostError: If it cannot be read.
    """
    try:
        return Fill(
            fill_id=str(row["id"]),
            client_order_id=client_order_id,
            symbol=names.ours(row["symbol"]),
            side=Side(row["side"]),
            quantity_units=number(row["qty"]),
            price=number(row["price"]),
            filled_at=moment(row["transaction_time"]),
        )
    except _UNREADABLE as e:
        raise AnswerLostError(f"a fill that cannot be read ({type(e).__name__})") from e


@dataclass(frozen=True)
class OrderNews:
    """What an event of the stream says; of a fill only that there is one."""

    client_order_id: str
    venue_order_id: str
    filled_units: Decimal
    """Of the whole order, as far as the event knows."""
    update: BrokerUpdate | None
    """None where the event changes nothing but the fills."""
    is_over: bool
    """Whether the order has ended."""


def read_news(data: Mapping[str, Any]) -> OrderNews:
    """Read an event of the stream.

    Raises:
        AnswerLostError: If it cannot be read.
    """
    try:
        order, event = data["order"], str(data["event"])
        client_id, venue_id = str(order["client_order_id"]), str(order["id"])
        kind = EVENTS.get(event, _K.UNKNOWN)
        update = None
        if kind is not None:
            reason = None if kind is _K.ACCEPTED else f"Alpaca: {event[:40]}"
            at = moment(data["timestamp"])
            filled = number(order.get("filled_qty") or "0")
            update = BrokerUpdate(kind, client_id, at, venue_id, reason=reason, filled_units=filled)
        status = STATUSES.get(str(order.get("status")))
        return OrderNews(
            client_order_id=client_id,
            venue_order_id=venue_id,
            filled_units=number(order.get("filled_qty") or "0"),
            update=update,
            is_over=status is not None and status.is_final,
        )
    except _UNREADABLE as e:
        raise AnswerLostError(f"an event that cannot be read ({type(e).__name__})") from e


def state_update(order: BrokerOrder, at: datetime) -> BrokerUpdate | None:
    """Say what an order that was read is; None where its fills say it, or a cancel is under way."""
    if order.status in (_S.FILLED, _S.PENDING_CANCEL):
        return None
    kind = _K.UNKNOWN if order.status is None else _KINDS[order.status]
    reason = None if kind is _K.ACCEPTED else f"Alpaca: read as {kind.value}"
    ids = order.client_order_id, order.venue_order_id
    filled = order.filled_units
    return BrokerUpdate(kind, ids[0], at, ids[1], reason=reason, filled_units=filled)


def read_account(body: Mapping[str, Any]) -> BrokerAccount:
    """Read the money of the account."""
    flags = ("trading_blocked", "account_blocked", "trade_suspended_by_user")
    return BrokerAccount(
        cash_ccy=number(body["cash"]),
        equity_ccy=number(body["equity"]),
        buying_power_ccy=number(body["buying_power"]),
        is_blocked=body["status"] != "ACTIVE" or any(body.get(name) for name in flags),
    )


def read_clock(body: Mapping[str, Any]) -> BrokerClock:
    """Read the venue's time and its session."""
    return BrokerClock(
        now=moment(body["timestamp"]),
        is_open=bool(body["is_open"]),
        next_open=moment(body["next_open"]),
        next_close=moment(body["next_close"]),
    )


def read_asset(body: Mapping[str, Any], symbol: str) -> BrokerAsset:
    """Read what is allowed with a symbol; one that cannot be traded now is halted."""
    is_tradable = bool(body["tradable"]) and body["status"] == "active"
    return BrokerAsset(
        symbol=symbol,
        tradable=is_tradable,
        shortable=bool(body["shortable"] and body["easy_to_borrow"]),
        fractionable=bool(body["fractionable"]),
        halted=not is_tradable,
    )


def number(value: object) -> Decimal:
    """Read a decimal that is written as text, or as a number of JSON.

    Raises:
        InvalidOperation: If it is none, or not finite.
    """
    read = Decimal(str(value))
    if not read.is_finite():
        raise InvalidOperation("not finite")
    return read


def moment(text: object) -> datetime:
    """Read RFC 3339 in UTC; digits beyond microseconds are cut off.

    Raises:
        ValueError: If it is none, or has no zone.
    """
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.astimezone(UTC)
