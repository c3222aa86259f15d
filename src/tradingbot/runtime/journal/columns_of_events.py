"""What an entry says in the columns of its tables: derived when it is written, and when verified.

A fill is booked against the position that the fills before it made, by `domain.position`, so that
its row holds the units held afterwards and the profit that it realised, net of its fee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatchmethod
from typing import Any

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
    OrderAccepted,
    OrderCancelled,
    OrderDenied,
    OrderExpired,
    OrderFilled,
    OrderRejected,
    OrderSubmitted,
    TradingStateChanged,
)
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Position, apply_fill
from tradingbot.runtime.journal import tables

Row = tuple[Table, dict[str, Any]]


class EventColumns:
    """Derives rows from events, in the order of the chain.

    Args:
        find_position: (session, symbol) → position before the first event that is given, without
            profit and fees; asked once.
        has_order: (session, client order id) → whether `orders` has it already; asked once.
    """

    def __init__(
        self,
        find_position: Callable[[str, str], Position],
        has_order: Callable[[str, str], bool],
    ) -> None:
        self._find_position, self._has_order = find_position, has_order
        self._positions: dict[tuple[str, str], Position] = {}
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
        before = self._positions.get(place) or self._find_position(*place)
        held = Position(before.symbol, before.units, before.cost_ccy)  # profit from 0
        after = self._positions[place] = apply_fill(held, fill)
        status = OrderStatus.PARTIALLY_FILLED if event.remaining_units else OrderStatus.FILLED
        names = ("fill_id", "client_order_id", "symbol", "side", "quantity_units", "price")
        columns = {
            **_copy(fill, *names, "fee_ccy", "filled_at"),
            "position_units": after.units,
            "position_cost_ccy": after.cost_ccy,
            "realised_pnl_ccy": after.realised_pnl_ccy,
        }
        return [(tables.FILLS, columns), _step(fill.client_order_id, status, fill.filled_at)]

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
        if identity in self._orders or self._has_order(*identity):
            return []
        self._orders.add(identity)
        names = ("client_order_id", "symbol", "side", "quantity_units", "order_type", "limit_price")
        more = ("time_in_force", "decided_at", "model", "sequence", "confidence")
        return [(tables.ORDERS, _copy(intent, *names, *more))]


def _copy(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _step(client_order_id: str, status: OrderStatus, at: Any, **more: Any) -> Row:
    columns: Mapping[str, Any] = {"reason": None, "venue_order_id": None, "filled_units": None}
    row = {"client_order_id": client_order_id, "status": status, "at": at, **columns, **more}
    return tables.ORDER_EVENTS, row
