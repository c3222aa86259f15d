"""What a journal holds, read without writing: events, orders, fills, decisions, the last state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, func, select

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import DecisionMade, SessionStateSaved
from tradingbot.domain.events.trading import (
    OrderAccepted,
    OrderCancelled,
    OrderDenied,
    OrderExpired,
    OrderFilled,
    OrderRejected,
    OrderSubmitted,
)
from tradingbot.domain.order import Order, OrderStatus, move_order, record_fill
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Fill
from tradingbot.runtime.journal.address import JournalAddress, read_address
from tradingbot.runtime.journal.connections import check_file, explained, make_engine
from tradingbot.runtime.journal.entry import Head, read_content
from tradingbot.runtime.journal.schema import require_schema
from tradingbot.runtime.journal.tables import DECISIONS, ENTRIES
from tradingbot.runtime.journal.writing import read_head

_READ_TIMEOUT_S = 30.0


class ChainEntry(NamedTuple):
    """A row of the chain."""

    seq: int
    session: str
    content: str
    previous_sha256: str
    sha256: str
    event: Event


@dataclass(frozen=True)
class OrderHistory:
    """An intent and everything that became of it, in the order of the journal."""

    intent: OrderIntent
    events: tuple[Event, ...]

    @property
    def order(self) -> Order:
        """The order as its events leave it.

        Raises:
            TradingError: If the events contradict each other, e.g. more is filled than was asked.
        """
        order = Order(self.intent)
        for event in self.events:
            order = _follow(order, event)
        return order


class JournalReader:
    """Reads a journal; several may, while one process writes.

    Raises:
        JournalDamagedError: If it is no whole journal of this program's schema.
        JournalUnavailableError: If its database cannot be reached.
    """

    def __init__(self, address: JournalAddress, *, timeout_s: float = _READ_TIMEOUT_S) -> None:
        self.address = address
        if address.path is not None:
            require_journal_file(address.path)
        self._readers = make_engine(address, timeout_s=timeout_s, writes=False)
        with self.reading() as connection:
            require_schema(connection)

    @classmethod
    def at(cls, address: str | Path, *, timeout_s: float = _READ_TIMEOUT_S) -> JournalReader:
        """Open a journal to read it."""
        return cls(read_address(address), timeout_s=timeout_s)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection whose reads all see one state of the journal.

        Raises:
            JournalDamagedError: If the file is damaged.
            JournalUnavailableError: If the database cannot be reached.
        """
        with explained(self.address), self._readers.begin() as connection:
            yield connection

    def head(self) -> Head:
        """Return number and hash of the last entry."""
        with self.reading() as connection:
            return read_head(connection)

    def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions, in the order of their first entries."""
        names = select(ENTRIES.c.session).group_by(ENTRIES.c.session)
        with self.reading() as connection:
            rows = connection.execute(names.order_by(func.min(ENTRIES.c.seq)))
            return tuple(row.session for row in rows)

    def counts(self) -> dict[str, int]:
        """Return the number of entries by kind."""
        kinds = select(ENTRIES.c.kind, func.count()).group_by(ENTRIES.c.kind)
        with self.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(kinds.order_by(ENTRIES.c.kind))}

    def events(self, session: str, *kinds: type[Event], after: int = 0) -> tuple[Event, ...]:
        """Return the events of a session in their order.

        Args:
            session: Its name.
            kinds: Which; all where none is named.
            after: Number of an entry: those that follow it.
        """
        wanted = (ENTRIES.c.session == session, ENTRIES.c.seq > after)
        query = select(ENTRIES).where(*wanted)
        if kinds:
            query = query.where(ENTRIES.c.kind.in_([kind.__name__ for kind in kinds]))
        with self.reading() as connection:
            return tuple(entry.event for entry in _entries(connection, query))

    def newest(self, session: str | None = None, *, limit: int = 20) -> tuple[ChainEntry, ...]:
        """Return the last entries, oldest first."""
        query = select(ENTRIES).order_by(ENTRIES.c.seq.desc()).limit(limit)
        if session is not None:
            query = query.where(ENTRIES.c.session == session)
        with self.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(_entry(row) for row in reversed(rows))

    def orders(self, session: str) -> tuple[OrderHistory, ...]:
        """Return every order of a session, denied ones too, by the first mention of each."""
        known: dict[str, tuple[OrderIntent, list[Event]]] = {}
        for event in self.events(session, *_ORDER_KINDS):
            if isinstance(event, OrderDenied | OrderSubmitted):
                intent = event.intent
                known.setdefault(intent.client_order_id, (intent, []))[1].append(event)
                continue
            identity = _order_of(event)
            if identity in known:  # others were placed outside the session
                known[identity][1].append(event)
        return tuple(OrderHistory(intent, tuple(events)) for intent, events in known.values())

    def fills(self, session: str) -> tuple[Fill, ...]:
        """Return every fill of a session in the order of the journal."""
        found = self.events(session, OrderFilled)
        return tuple(event.fill for event in found if isinstance(event, OrderFilled))

    def decisions(self, session: str, day: date | None = None) -> tuple[DecisionMade, ...]:
        """Return the decisions of a session, of one day in UTC where it is named."""
        described = (ENTRIES.c.seq == DECISIONS.c.seq, DECISIONS.c.session == session)
        query = select(ENTRIES).where(*described)
        if day is not None:
            start = datetime.combine(day, time(), tzinfo=UTC)
            moment = DECISIONS.c.decided_at
            query = query.where(moment >= start, moment < start + timedelta(days=1))
        with self.reading() as connection:
            found = [entry.event for entry in _entries(connection, query)]
        return tuple(event for event in found if isinstance(event, DecisionMade))

    def state(self, session: str) -> SessionStateSaved | None:
        """Return the last state that a session saved; None where it saved none."""
        saved = (ENTRIES.c.session == session, ENTRIES.c.kind == SessionStateSaved.__name__)
        query = select(ENTRIES).where(*saved).order_by(ENTRIES.c.seq.desc()).limit(1)
        with self.reading() as connection:
            row = connection.execute(query).first()
        event = None if row is None else read_content(row.content)
        return event if isinstance(event, SessionStateSaved) else None

    def rows(self, table: Table, session: str | None = None) -> Sequence[dict[str, Any]]:
        """Return the rows of a table in the order of the chain, as mappings."""
        query = select(table).order_by(table.c.seq)
        if session is not None:
            query = query.where(table.c.session == session)
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def close(self) -> None:
        """Give the connections back."""
        self._readers.dispose()

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def require_journal_file(path: Path) -> None:
    """Refuse a path without a file that can be a journal.

    Raises:
        ConfigError: If there is none.
        JournalDamagedError: If it is another file.
    """
    if not path.is_file():
        remedy = "Name another with --journal, or start a session, which makes it"
        raise ConfigError("journal must exist", was="no file", where=str(path), remedy=remedy)
    check_file(path)


_ORDER_KINDS: tuple[type[Event], ...] = (
    *(OrderDenied, OrderSubmitted, OrderAccepted, OrderRejected),
    *(OrderCancelled, OrderExpired, OrderFilled),
)


def _entries(connection: Connection, query: Select[Any]) -> Iterator[ChainEntry]:
    for row in connection.execute(query.order_by(ENTRIES.c.seq)):
        yield _entry(row)


def _entry(row: Any) -> ChainEntry:
    chained = (row.content, row.previous_sha256, row.sha256)
    return ChainEntry(row.seq, row.session, *chained, read_content(row.content))


def _order_of(event: Event) -> str:
    if isinstance(event, OrderFilled):
        return event.fill.client_order_id
    return str(getattr(event, "client_order_id"))  # noqa: B009 - of every other kind


def _follow(order: Order, event: Event) -> Order:
    """Return an order after an event of it; what it has passed already changes nothing."""
    if isinstance(event, OrderFilled):
        return record_fill(order, event.fill)
    if isinstance(event, OrderSubmitted):
        if order.status is not OrderStatus.INTENDED:
            return order  # sent again under its id
        return move_order(move_order(order, OrderStatus.APPROVED), OrderStatus.SUBMITTED)
    status = _STATUSES[type(event)]
    if order.status is status or (status is OrderStatus.ACCEPTED and order.status.is_final):
        return order
    if status is OrderStatus.ACCEPTED and order.fills:
        return order  # an answer that its first fill overtook
    reason = getattr(event, "reason", None)
    return move_order(
        order, status, reason=reason, venue_order_id=getattr(event, "venue_order_id", None)
    )


_STATUSES: dict[type[Event], OrderStatus] = {
    OrderDenied: OrderStatus.DENIED,
    OrderAccepted: OrderStatus.ACCEPTED,
    OrderRejected: OrderStatus.REJECTED,
    OrderCancelled: OrderStatus.CANCELLED,
    OrderExpired: OrderStatus.EXPIRED,
}
