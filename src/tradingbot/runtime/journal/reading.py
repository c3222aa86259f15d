"""What a journal holds, read without writing: events, orders, fills, decisions, the last state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from threading import local
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, Select, Table, func, select

from tradingbot.domain.events.event import KIND, Event
from tradingbot.domain.events.session import DecisionMade, SessionStateSaved
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
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.protocol import BrokerUpdate, UpdateKind
from tradingbot.runtime.journal.address import JournalAddress, read_address
from tradingbot.runtime.journal.connections import explained, make_engine, require_journal_file
from tradingbot.runtime.journal.entry import Head, read_content
from tradingbot.runtime.journal.schema import require_schema
from tradingbot.runtime.journal.tables import DECISIONS, ENTRIES, FILLS, ORDERS, STATES
from tradingbot.runtime.journal.writing import read_head
from tradingbot.runtime.order_book import OrderBook, open_order
from tradingbot.runtime.stock_split import split_of

_READ_TIMEOUT_S = 30.0


class ChainEntry(NamedTuple):
    """A row of the chain."""

    seq: int
    session: str
    content: str
    previous_sha256: str
    sha256: str
    event: Event

    @property
    def values(self) -> dict[str, Any]:
        """The event as plain values."""
        return dict(json.loads(self.content))

    @property
    def summary(self) -> str:
        """What the event says, in one line, without its kind and without what is empty."""
        told = {name: value for name, value in self.values.items() if name != KIND}
        parts = [f"{name}={json.dumps(value)}" for name, value in told.items() if value is not None]
        return " ".join(parts).replace('"', "")


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
        self._of_thread = local()
        with self.reading() as connection:
            require_schema(connection)

    @classmethod
    def at(
        cls, address: str | Path | JournalAddress, *, timeout_s: float = _READ_TIMEOUT_S
    ) -> JournalReader:
        """Open a journal to read it."""
        return cls(read_address(address), timeout_s=timeout_s)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection whose reads, and all readings within, see one state of the journal.

        Raises:
            JournalDamagedError: If the file is damaged.
            JournalUnavailableError: If the database cannot be reached.
        """
        held: Connection | None = getattr(self._of_thread, "connection", None)
        with explained(self.address), nullcontext(held) if held else self._readers.begin() as found:
            self._of_thread.connection = found
            try:
                yield found
            finally:
                self._of_thread.connection = held

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

    def counts(self) -> dict[str, dict[str, int]]:
        """Return session → number of its entries, decisions, orders and fills."""
        tables = {"entries": ENTRIES, "decisions": DECISIONS, "orders": ORDERS, "fills": FILLS}
        found = {name: dict.fromkeys(tables, 0) for name in self.sessions()}
        with self.reading() as connection:
            for word, table in tables.items():
                counted = select(table.c.session, func.count()).group_by(table.c.session)
                for session, count in connection.execute(counted):
                    found.setdefault(session, dict.fromkeys(tables, 0))[word] = count
        return found

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

    def newest(
        self, session: str, *, limit: int = 20, kind: type[Event] | None = None
    ) -> tuple[ChainEntry, ...]:
        """Return the last entries of a session, of one kind or of all, oldest first."""
        query = select(ENTRIES).where(ENTRIES.c.session == session)
        if kind is not None:
            query = query.where(ENTRIES.c.kind == kind.__name__)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(ENTRIES.c.seq.desc()).limit(limit)).all()
        return tuple(_entry(row) for row in reversed(rows))

    def follow(self, session: str, *kinds: type[Event], after: int = 0) -> tuple[ChainEntry, ...]:
        """Return the entries of a session after a number, with theirs: for what watches it grow.

        Args:
            session: Its name.
            kinds: Which.
            after: Number of the last entry that was read.
        """
        names = [kind.__name__ for kind in kinds]
        wanted = (ENTRIES.c.session == session, ENTRIES.c.seq > after, ENTRIES.c.kind.in_(names))
        with self.reading() as connection:
            return tuple(_entries(connection, select(ENTRIES).where(*wanted)))

    def order_book(self, session: str) -> OrderBook:
        """Return every order of a session as its events leave it, denied ones too.

        What a restart begins with, before it asks the venue.
        """
        book = OrderBook()
        for event in self.events(session, *ORDER_KINDS):
            follow_order(book, event)
        return book

    def orders(self, session: str) -> tuple[Order, ...]:
        """Return every order of a session by the first mention of each."""
        return tuple(self.order_book(session).orders.values())

    def position_changes(self, session: str, *, after: int = 0) -> tuple[PositionChange, ...]:
        """Return fills, busts and splits in their order, those after a numbered entry or all."""
        found = self.events(session, OrderFilled, FillBusted, StockSplitApplied, after=after)
        return tuple(each for each in found if isinstance(each, PositionChange))

    def fills(self, session: str) -> tuple[Fill, ...]:
        """Return every fill of a session that the venue did not take back, in order."""
        return tuple(self.order_book(session).fills.values())

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
        last = select(func.max(STATES.c.seq)).where(STATES.c.session == session).scalar_subquery()
        with self.reading() as connection:
            row = connection.execute(select(ENTRIES).where(ENTRIES.c.seq == last)).first()
        event = None if row is None else read_content(row.content)
        return event if isinstance(event, SessionStateSaved) else None

    def rows(
        self, table: Table, session: str | None = None, *, newest: int | None = None
    ) -> Sequence[dict[str, Any]]:
        """Return the rows of a table in the order of the chain, as mappings.

        Args:
            table: Of `runtime.journal.tables`.
            session: Only those of this one.
            newest: Only so many of the last.
        """
        query = select(table)
        if session is not None:
            query = query.where(table.c.session == session)
        order = table.c.seq if newest is None else table.c.seq.desc()
        with self.reading() as connection:
            found = connection.execute(query.order_by(order).limit(newest)).mappings()
            rows = [dict(row) for row in found]
        return rows if newest is None else rows[::-1]

    def close(self) -> None:
        """Give the connections back."""
        self._readers.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


ORDER_KINDS: tuple[type[Event], ...] = (
    *(OrderDenied, OrderSubmitted, OrderAccepted, OrderRejected),
    *(OrderCancelled, OrderExpired, OrderFilled, FillBusted, StockSplitApplied),
)
"""What `follow_order` takes in."""


def _entries(connection: Connection, query: Select[Any]) -> Iterator[ChainEntry]:
    for row in connection.execute(query.order_by(ENTRIES.c.seq)):
        yield _entry(row)


def _entry(row: Any) -> ChainEntry:
    chained = (row.content, row.previous_sha256, row.sha256)
    return ChainEntry(row.seq, row.session, *chained, read_content(row.content))


def follow_order(book: OrderBook, event: Event) -> None:
    """Take an event of an order into a book; what it knows already changes nothing.

    Events of other kinds change nothing either.
    """
    if isinstance(event, OrderDenied | OrderSubmitted):
        identity = event.intent.client_order_id
        if identity in book.orders:
            return  # sent again under its id
        if isinstance(event, OrderDenied):
            book.add(Order(event.intent, OrderStatus.DENIED, reason=event.reason))
            return
        book.add(open_order(event.intent))
        book.move(identity, OrderStatus.SUBMITTED)
    elif isinstance(event, OrderFilled):
        book.book_fill(event.fill)
        if not event.remaining_units:
            book.complete(event.fill.client_order_id)
    elif isinstance(event, FillBusted):
        book.bust(event.fill)
    elif isinstance(event, StockSplitApplied):
        book.split(split_of(event))
    elif isinstance(event, OrderAccepted | OrderRejected | OrderCancelled | OrderExpired):
        told = {name: getattr(event, name, None) for name in ("venue_order_id", "reason")}
        book.apply(BrokerUpdate(_UPDATES[type(event)], event.client_order_id, event.at, **told))


_UPDATES: dict[type[Event], UpdateKind] = {
    OrderAccepted: UpdateKind.ACCEPTED,
    OrderRejected: UpdateKind.REJECTED,
    OrderCancelled: UpdateKind.CANCELLED,
    OrderExpired: UpdateKind.EXPIRED,
}
