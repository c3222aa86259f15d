"""What an entry says in the columns of its tables: derived when it is written, and when verified.

A fill is booked against the position that the entries before it made, as `runtime.holdings` does,
so that `position_changes` holds the units held afterwards and the profit that it realised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import singledispatchmethod
from typing import Any, Protocol

from sqlalchemy import Table

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import (
    ActAudited,
    AlertRaised,
    DecisionMade,
    ModelLoaded,
    SessionStarted,
    SessionStateSaved,
)
from tradingbot.domain.events.trading import (
    FillBusted,
    OrderAccepted,
    OrderCancelled,
    OrderDenied,
    OrderExpired,
    OrderFilled,
    OrderRejected,
    OrderSubmitted,
    PositionChange,
    StockSplitApplied,
    TradingStateChanged,
)
from tradingbot.domain.exact_number import add
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Position, apply_fill
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal import tables
from tradingbot.runtime.stock_split import split_of, split_units

Row = tuple[Table, dict[str, Any]]


class JournalLookup(Protocol):
    """What the journal holds before the first event that is given."""

    def position(self, session: str, symbol: str) -> Position:
        """Return what is held, without profit and fees."""

    def changes(self, session: str, symbol: str) -> list[PositionChange]:
        """Return every fill, bust and split of a symbol, in order."""

    def has_order(self, session: str, client_order_id: str) -> bool:
        """Tell whether `orders` has a row of it."""


class EmptyLookup:
    """Of a journal without entries: what a derivation from the first entry on begins with."""

    def position(self, session: str, symbol: str) -> Position:
        """Return a flat position."""
        return Position(symbol)

    def changes(self, session: str, symbol: str) -> list[PositionChange]:
        """Return none."""
        return []

    def has_order(self, session: str, client_order_id: str) -> bool:
        """Return False."""
        return False


class EventColumns:
    """Derives rows from events, in the order of the chain.

    Args:
        before: The entries before; asked once for each symbol and order.
    """

    def __init__(self, before: JournalLookup) -> None:
        self._before = before
        self._positions: dict[tuple[str, str], Position] = {}
        self._changes: dict[tuple[str, str], list[PositionChange]] = {}
        self._orders: set[tuple[str, str]] = set()

    def rows(self, seq: int, session: str, event: Event) -> list[Row]:
        """Return the rows of an entry beside the one in `entries`."""
        return [
            (table, {"seq": seq, "session": session, **columns})
            for table, columns in self._columns(event, session)
        ]

    @singledispatchmethod
    def _columns(self, event: Event, session: str) -> list[Row]:
        return []  # events of training have no table here

    @_columns.register
    def _(self, event: SessionStarted, session: str) -> list[Row]:
        columns = _copy(event, "broker", "model", "code_version", "settings_sha256")
        return [(tables.SESSIONS, {"started_at": event.at, **columns})]

    @_columns.register
    def _(self, event: ModelLoaded, session: str) -> list[Row]:
        return [(tables.MODELS, {"loaded_at": event.at, **_copy(event, "model", "run", "verdict")})]

    @_columns.register
    def _(self, event: DecisionMade, session: str) -> list[Row]:
        names = ("symbol", "decided_at", "model", "action_space", "action", "raw_action")
        more = ("smoothed_action", "confidence", "option", "intrinsic_reward", "client_order_id")
        return [(tables.DECISIONS, _copy(event, *names, *more, "is_shadow"))]

    @_columns.register
    def _(self, event: OrderDenied, session: str) -> list[Row]:
        at, reason = event.intent.decided_at, event.reason
        step = _step(event.intent.client_order_id, OrderStatus.DENIED, at, reason=reason)
        return [*self._order(event.intent, session), step]

    @_columns.register
    def _(self, event: OrderSubmitted, session: str) -> list[Row]:
        identity = event.intent.client_order_id
        step = _step(identity, OrderStatus.SUBMITTED, event.submitted_at)
        return [*self._order(event.intent, session), step]

    @_columns.register
    def _(self, event: OrderAccepted, session: str) -> list[Row]:
        found = {"venue_order_id": event.venue_order_id}
        return [_step(event.client_order_id, OrderStatus.ACCEPTED, event.at, **found)]

    @_columns.register
    def _(self, event: OrderRejected, session: str) -> list[Row]:
        return [_step(event.client_order_id, OrderStatus.REJECTED, event.at, reason=event.reason)]

    @_columns.register
    def _(self, event: OrderCancelled, session: str) -> list[Row]:
        filled = {"filled_units": event.filled_units}
        return [_step(event.client_order_id, OrderStatus.CANCELLED, event.at, **filled)]

    @_columns.register
    def _(self, event: OrderExpired, session: str) -> list[Row]:
        filled = {"filled_units": event.filled_units}
        return [_step(event.client_order_id, OrderStatus.EXPIRED, event.at, **filled)]

    @_columns.register
    def _(self, event: OrderFilled, session: str) -> list[Row]:
        fill, place = event.fill, (session, event.fill.symbol)
        held = self._positions.get(place) or self._before.position(*place)
        after = apply_fill(held, fill)
        self._changes.setdefault(place, []).append(event)
        status = OrderStatus.PARTIALLY_FILLED if event.remaining_units else OrderStatus.FILLED
        names = ("fill_id", "client_order_id", "symbol", "side", "quantity_units", "price")
        return [
            (tables.FILLS, _copy(fill, *names, "fee_ccy", "filled_at")),
            self._change(place, after, fill.filled_at, "fill", fill_id=fill.fill_id),
            _step(fill.client_order_id, status, fill.filled_at),
        ]

    @_columns.register
    def _(self, event: FillBusted, session: str) -> list[Row]:
        place = (session, event.fill.symbol)
        new = self._changes.setdefault(place, [])
        known = [*self._before.changes(*place), *new]
        new.append(event)
        before, after = _fold(known), _fold([*known, event])
        profit = add(after.realised_pnl_ccy, -before.realised_pnl_ccy)
        held = replace(after, realised_pnl_ccy=profit)
        return [self._change(place, held, event.at, "bust", fill_id=event.fill.fill_id)]

    @_columns.register
    def _(self, event: StockSplitApplied, session: str) -> list[Row]:
        place = (session, event.symbol)
        held = self._positions.get(place) or self._before.position(*place)
        self._changes.setdefault(place, []).append(event)
        return [self._change(place, split_units(held, split_of(event)), event.at, "split")]

    def _change(
        self, place: tuple[str, str], held: Position, at: datetime, cause: str, **more: str
    ) -> Row:
        """Keep what is held now, and return the row that says it."""
        profit = held.realised_pnl_ccy
        self._positions[place] = Position(held.symbol, held.units, held.cost_ccy)
        told = {"symbol": held.symbol, "at": at, "cause": cause, "fill_id": None, **more}
        amounts = {"units": held.units, "cost_ccy": held.cost_ccy, "realised_pnl_ccy": profit}
        return tables.POSITION_CHANGES, {**told, **amounts}

    @_columns.register
    def _(self, event: SessionStateSaved, session: str) -> list[Row]:
        return [(tables.STATES, _copy(event, "at", "trading_state", "cash_ccy", "equity_ccy"))]

    @_columns.register
    def _(self, event: TradingStateChanged, session: str) -> list[Row]:
        change = event.change
        act = f"{change.before.value} to {change.after.value}"
        row = {"at": event.at, "act": act, "actor": change.authorised_by, "reason": change.reason}
        return [(tables.AUDIT, row)]

    @_columns.register
    def _(self, event: AlertRaised, session: str) -> list[Row]:
        return [(tables.ALERTS, _copy(event, "at", "level", "code", "text", "symbol"))]

    @_columns.register
    def _(self, event: ActAudited, session: str) -> list[Row]:
        return [(tables.AUDIT, _copy(event, "at", "act", "actor", "reason"))]

    def _order(self, intent: OrderIntent, session: str) -> list[Row]:
        """Return the row of an order where it is new: a second attempt is the same order."""
        identity = (session, intent.client_order_id)
        if identity in self._orders or self._before.has_order(*identity):
            return []
        self._orders.add(identity)
        names = ("client_order_id", "symbol", "side", "quantity_units", "order_type", "limit_price")
        more = ("time_in_force", "decided_at", "model", "sequence", "confidence")
        return [(tables.ORDERS, _copy(intent, *names, *more))]


def _fold(changes: list[PositionChange]) -> Position:
    """Return the position that entries make; a fill that is taken back was never there."""
    busted = {event.fill.fill_id for event in changes if isinstance(event, FillBusted)}
    holdings = Holdings(Decimal(0))
    for event in changes:
        if isinstance(event, StockSplitApplied):
            holdings.split(split_of(event))
        elif isinstance(event, OrderFilled) and event.fill.fill_id not in busted:
            holdings.book(event.fill)
    symbol = _symbol_of(changes[-1])
    return holdings.positions.get(symbol) or Position(symbol)


def _symbol_of(event: PositionChange) -> str:
    return event.symbol if isinstance(event, StockSplitApplied) else event.fill.symbol


def _copy(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _step(client_order_id: str, status: OrderStatus, at: Any, **more: Any) -> Row:
    columns: Mapping[str, Any] = {"reason": None, "venue_order_id": None, "filled_units": None}
    row = {"client_order_id": client_order_id, "status": status, "at": at, **columns, **more}
    return tables.ORDER_EVENTS, row
