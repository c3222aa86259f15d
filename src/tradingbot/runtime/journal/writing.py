"""One batch of events becomes one transaction: chained, described in columns, and only once.

A batch has a random name that is stored with its entries. After a lost answer the same batch is
tried again, and one that the database has already is not written twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Table, insert, select, tuple_

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.trading import PositionChange
from tradingbot.domain.position import Position
from tradingbot.runtime.journal.columns_of_events import EventColumns
from tradingbot.runtime.journal.entry import (
    Head,
    chain,
    entry_key,
    is_replay,
    read_content,
    write_content,
)
from tradingbot.runtime.journal.tables import ENTRIES, ORDERS, POSITION_CHANGES

_KEYS = 500  # looked up in one statement: databases limit how many values one may have


@dataclass(frozen=True)
class Batch:
    """Events that are recorded together or not at all."""

    name: str
    """32 hexadecimal digits."""
    session: str
    events: tuple[Event, ...]

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """The events as the chain holds them.

        Raises:
            TradingError: If one of them would come back as something else.
        """
        return tuple(map(write_content, self.events))

    @property
    def at(self) -> datetime:
        """Earliest time that its events tell."""
        return min(moment for event in self.events for moment in _moments(event))


def read_head(connection: Connection) -> Head:
    """Return the last entry of the chain."""
    newest = select(ENTRIES.c.seq, ENTRIES.c.sha256).order_by(ENTRIES.c.seq.desc()).limit(1)
    row = connection.execute(newest).first()
    return Head() if row is None else Head(row.seq, row.sha256)


def write_batch(connection: Connection, batch: Batch) -> Head:
    """Write a batch in the transaction that is open; what the journal has already is passed over.

    Returns:
        The last entry of the chain afterwards.

    Raises:
        TradingError: If a fill or a decision is journaled already and says something else.
    """
    head = read_head(connection)
    if _has_batch(connection, batch.name):
        return head
    columns = EventColumns(_StoredEntries(connection))
    rows: dict[Table, list[dict[str, Any]]] = {ENTRIES: []}
    for place in _new_places(connection, batch):
        event, content = batch.events[place], batch.contents[place]
        after = chain(head, batch.session, content)
        entry = {"seq": after.seq, "session": batch.session, "kind": event.kind}
        chained = {"content": content, "previous_sha256": head.sha256, "sha256": after.sha256}
        stored = {"key": entry_key(event), "batch": batch.name, "place": place}
        rows[ENTRIES].append({**entry, **chained, **stored})
        for table, row in columns.rows(after.seq, batch.session, event):
            rows.setdefault(table, []).append(row)
        head = after
    for table, values in rows.items():
        if values:
            connection.execute(insert(table), values)
    return head


class _StoredEntries:
    """What a journal holds before a batch."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def position(self, session: str, symbol: str) -> Position:
        """Return what is held, without profit and fees."""
        changed = POSITION_CHANGES.c
        newest = (
            select(changed.units, changed.cost_ccy)
            .where(changed.session == session, changed.symbol == symbol)
            .order_by(changed.seq.desc())
            .limit(1)
        )
        row = self._connection.execute(newest).first()
        return Position(symbol) if row is None else Position(symbol, row.units, row.cost_ccy)

    def changes(self, session: str, symbol: str) -> list[PositionChange]:
        """Return every fill, bust and split of a symbol, in order."""
        changed = POSITION_CHANGES.c
        found = (
            select(ENTRIES.c.content)
            .where(changed.seq == ENTRIES.c.seq)
            .where(changed.session == session, changed.symbol == symbol)
            .order_by(changed.seq)
        )
        events = [read_content(row.content) for row in self._connection.execute(found)]
        return [event for event in events if isinstance(event, PositionChange)]

    def has_order(self, session: str, client_order_id: str) -> bool:
        """Tell whether `orders` has a row of it."""
        same = (ORDERS.c.session == session, ORDERS.c.client_order_id == client_order_id)
        return self._connection.execute(select(ORDERS.c.seq).where(*same)).first() is not None


def _moments(value: object) -> Iterator[datetime]:
    if isinstance(value, datetime):
        yield value
    elif is_dataclass(value):
        for each in fields(value):
            yield from _moments(getattr(value, each.name))


def _has_batch(connection: Connection, name: str) -> bool:
    found = select(ENTRIES.c.seq).where(ENTRIES.c.batch == name).limit(1)
    return connection.execute(found).first() is not None


def _new_places(connection: Connection, batch: Batch) -> Iterator[int]:
    """Yield where the events are whose key is new; a replay of what is there is no second entry."""
    keyed = [(event.kind, key) for event in batch.events if (key := entry_key(event)) is not None]
    known = _find_keyed(connection, batch.session, keyed)
    for place, event in enumerate(batch.events):
        key = entry_key(event)
        before = event if key is None else known.setdefault((event.kind, key), event)
        if before is event:
            yield place
        elif not is_replay(before, event):
            raise TradingError(
                f"a {event.kind} must be journaled once under its key",
                was=f"{batch.contents[place]} after {write_content(before)}",
                where=f"journal, session {batch.session}",
                remedy="Reconcile with the venue before trading on",
            )


def _find_keyed(
    connection: Connection, session: str, keyed: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Event]:
    columns = (ENTRIES.c.kind, ENTRIES.c.key)
    known: dict[tuple[str, str], Event] = {}
    for start in range(0, len(keyed), _KEYS):
        part = tuple_(*columns).in_(keyed[start : start + _KEYS])
        found = select(*columns, ENTRIES.c.content).where(ENTRIES.c.session == session, part)
        for row in connection.execute(found):
            known[row.kind, row.key] = read_content(row.content)
    return known
