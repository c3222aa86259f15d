"""What the venue said happened to our orders: the stream's hints, and the books as the truth.

Fills come from the account's activities alone. The stream says that there are some; it may say so
twice, late or never, and calls an execution by another id. A cancel is told after the fills that
came before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.exact_number import add
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.reading import (
    SymbolNames,
    read_execution,
    read_news,
    read_order,
    state_update,
)
from tradingbot.runtime.brokers.alpaca.stream import UpdateStream
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
)
from tradingbot.runtime.brokers.protocol import BrokerOrder, BrokerUpdate, UpdateKind

_OVERLAP = timedelta(minutes=2)
"""How far back fills are asked for again: the activities may list one late."""
_FAILURES = (AnswerLostError, TooManyRequestsError, VenueRefusalError)


@dataclass
class _Watched:
    """An order of ours that may still change."""

    venue_order_id: str
    seen_units: Decimal = Decimal(0)
    """Filled, as the stream or the order itself says."""
    told_units: Decimal = Decimal(0)
    """Filled, by the fills that were handed on."""
    is_over: bool = False

    @property
    def lacks_fills(self) -> bool:
        """Whether the activities have not shown all that is known to be filled."""
        return self.seen_units > self.told_units


class OrderUpdates:
    """Turns events and books into updates, each fill once."""

    def __init__(
        self,
        wire: TradingWire,
        stream: UpdateStream,
        names: SymbolNames,
        settings: AlpacaBrokerSettings,
        clock: Clock,
    ) -> None:
        self._wire, self._stream, self._names = wire, stream, names
        self._settings, self._clock = settings, clock
        self._watched: dict[str, _Watched] = {}
        self._client_ids: dict[str, str] = {}
        self._told_fills: set[str] = set()
        self._held: list[tuple[float, BrokerUpdate]] = []
        self._begun = self._newest = clock.now().astimezone(UTC)
        self._read_at = clock.monotonic()
        self._quiet_until = float("-inf")
        self._connections = 0
        self._is_stale = self._has_news = False

    def begin(self, now: datetime) -> None:
        """Tell fills from a moment of the venue's clock on."""
        self._begun = self._newest = now

    def watch(self, order: BrokerOrder) -> None:
        """Follow an order until it ends; what was filled of it is told again."""
        self._client_ids[order.venue_order_id] = order.client_order_id
        if order.client_order_id not in self._watched:
            self._watched[order.client_order_id] = _Watched(order.venue_order_id)
            if order.filled_units:
                self._begun = min(self._begun, order.submitted_at)
                self._newest = self._begun
        self._see(self._watched[order.client_order_id], order.filled_units)

    def venue_order_id(self, client_order_id: str) -> str | None:
        """Return the venue's id of an order that is followed."""
        kept = self._watched.get(client_order_id)
        return None if kept is None else kept.venue_order_id

    def mark_stale(self) -> None:
        """Let the next `drain` read the books."""
        self._is_stale = True

    def drain(self) -> tuple[BrokerUpdate, ...]:
        """Return what happened since the last call: fills first."""
        now = self._clock.monotonic()
        for data in self._stream.drain():
            self._hear(data, now)
        fills: list[BrokerUpdate] = []
        if now >= self._quiet_until or self._has_news:
            try:
                fills = self._read(now)
            except _FAILURES:
                self._is_stale = True
                self._quiet_until = now + self._settings.poll_every_s
        self._has_news = False
        updates = (*fills, *self._release(now))
        over = [key for key, kept in self._watched.items() if kept.is_over and not kept.lacks_fills]
        for client_order_id in over:  # a late fill of it is told all the same
            del self._watched[client_order_id]
        return updates

    def _hear(self, data: dict[str, Any], now: float) -> None:
        try:
            news = read_news(data)
        except AnswerLostError:
            self._is_stale = True
            return
        self._client_ids[news.venue_order_id] = news.client_order_id
        kept = self._watched.get(news.client_order_id)
        if kept is not None:
            self._see(kept, news.filled_units)
            kept.is_over = kept.is_over or news.is_over
        elif news.filled_units:
            self._is_stale = self._has_news = True  # of an order that is not followed any more
        if news.update is not None:
            self._hold(news.update, now)

    def _see(self, kept: _Watched, filled_units: Decimal) -> None:
        if filled_units > kept.seen_units:
            kept.seen_units, self._has_news = filled_units, True

    def _read(self, now: float) -> list[BrokerUpdate]:
        """Read the books where that is due, or the fills where some are missing."""
        if self._stream.connections != self._connections:
            self._connections, self._is_stale = self._stream.connections, True
        is_up = self._stream.down_s == 0.0
        every = self._settings.resync_every_s if is_up else self._settings.poll_every_s
        lacks_fills = any(kept.lacks_fills for kept in self._watched.values())
        if not (self._is_stale or now - self._read_at >= every):
            fills = self._read_fills() if lacks_fills else []
        else:
            if self._watched:
                self._read_orders(now)
            fills = self._read_fills()
            self._read_at, self._is_stale = now, False
        if any(kept.lacks_fills for kept in self._watched.values()):
            self._newest = self._begun  # the activities lag: look at all of them again
            self._quiet_until = now + min(1.0, self._settings.poll_every_s)
        return fills

    def _read_orders(self, now: float) -> None:
        """Read the orders that are followed."""
        at = self._clock.now().astimezone(UTC)
        recent = {str(body.get("id")): body for body in self.recent_orders()}
        for kept in self._watched.values():
            body = recent.get(kept.venue_order_id) or self._wire.order(kept.venue_order_id)
            order = read_order(body, self._names)
            self._see(kept, order.filled_units)
            kept.is_over = kept.is_over or not order.is_open
            update = state_update(order, at)
            if update is not None:
                self._hold(update, now)

    def recent_orders(self) -> list[dict[str, Any]]:
        """Return the last 500 orders of the account, and know their ids from then on."""
        recent = self._wire.recent_orders()
        for body in recent:
            self._client_ids.setdefault(str(body.get("id")), str(body.get("client_order_id")))
        return recent

    def _read_fills(self) -> list[BrokerUpdate]:
        told = []
        for fill, venue_id in self.executions(max(self._begun, self._newest - _OVERLAP)):
            if fill.fill_id in self._told_fills:
                continue
            self._told_fills.add(fill.fill_id)
            self._newest = max(self._newest, fill.filled_at)
            kept = self._watched.get(fill.client_order_id)
            if kept is not None:
                kept.told_units = add(kept.told_units, fill.quantity_units)
            told.append(
                BrokerUpdate(
                    UpdateKind.FILLED,
                    fill.client_order_id,
                    fill.filled_at,
                    venue_order_id=venue_id,
                    fill=fill,
                )
            )
        return told

    def executions(self, since: datetime) -> list[tuple[Fill, str]]:
        """Return fills at or after a moment with the venue's ids of their orders, oldest first."""
        after = (since - timedelta(milliseconds=1)).astimezone(UTC).isoformat()
        rows = self._wire.fills(after)
        if any(str(row.get("order_id")) not in self._client_ids for row in rows):
            self.recent_orders()
        found = []
        for row in rows:
            venue_id = str(row.get("order_id"))
            if venue_id not in self._client_ids:
                body = self._wire.order(venue_id)
                self._client_ids[venue_id] = str(body.get("client_order_id"))
            fill = read_execution(row, self._client_ids[venue_id], self._names)
            if fill.filled_at >= since:
                found.append((fill, venue_id))
        return sorted(found, key=lambda each: each[0].filled_at)

    def _hold(self, update: BrokerUpdate, now: float) -> None:
        """Keep an update until it is handed on; one that waits already is not kept twice."""
        key = update.client_order_id, update.kind
        if key not in ((each.client_order_id, each.kind) for _, each in self._held):
            self._held.append((now, update))

    def _release(self, now: float) -> list[BrokerUpdate]:
        """Hand on what waited, but for the end of an order whose fills are still missing."""
        ready, waiting = [], []
        for arrived, update in self._held:
            kept = self._watched.get(update.client_order_id)
            is_end = update.kind not in (UpdateKind.ACCEPTED, UpdateKind.UNKNOWN)
            is_early = now - arrived < self._settings.fills_grace_s
            if kept is not None and kept.lacks_fills and is_end and is_early:
                waiting.append((arrived, update))
            else:
                ready.append(update)
        self._held = waiting
        return ready
