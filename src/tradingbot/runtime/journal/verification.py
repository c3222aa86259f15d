"""Proof that a journal is what was written: the chain, the columns, the positions.

Every hash is computed again from the first entry on, every row of every table is derived again
from its entry and compared, and the database's own check is run. The first row that is wrong is
named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, select, text

from tradingbot.domain.errors import UserError
from tradingbot.domain.events.event import KIND, Event
from tradingbot.domain.events.trading import FillBusted, OrderFilled, StockSplitApplied
from tradingbot.runtime.journal.columns_of_events import EmptyLookup, EventColumns
from tradingbot.runtime.journal.entry import Head, chain, entry_key, read_content
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import ENTRIES, TABLES

_FETCHED = 2_000  # rows at a time
_HELD = [
    f'"{KIND}":"{kind.__name__}"' for kind in (OrderFilled, FillBusted, StockSplitApplied)
]  # in the content of every entry that changes a position


@dataclass(frozen=True)
class VerifiedJournal:
    """What was verified."""

    head: Head
    counts: dict[str, int]
    """Table → rows."""


@dataclass(frozen=True)
class BrokenRow:
    """The first row that is not what was written."""

    table: str
    seq: int
    problem: str

    def __str__(self) -> str:
        return f"{self.table} {self.seq}: {self.problem}"


def verify(journal: JournalReader, *, tables: Sequence[Table] = TABLES) -> VerifiedJournal:
    """Prove the chain, and that tables say what their entries say.

    Args:
        journal: Any.
        tables: Those that are compared with their entries: all, or `POSITION_CHANGES` alone, from
            which positions are continued when a session starts.

    Raises:
        JournalDamagedError: Naming the first row that is wrong.
    """
    with journal.reading() as connection:
        _require_database(connection)
        described = {table: _stream(connection, table) for table in tables if table is not ENTRIES}
        columns = EventColumns(EmptyLookup())
        counts, head = dict.fromkeys((table.name for table in tables), 0), Head()
        for row in _stream(connection, ENTRIES):
            head = _next_head(head, row, journal)
            if ENTRIES not in tables and not any(kind in row.content for kind in _HELD):
                continue
            event = _event_of(row, journal)
            for table, expected in columns.rows(row.seq, row.session, event):
                if table in described:
                    found = next(described[table], None)
                    _require_same(table, expected, found, row.seq, journal)
                    counts[table.name] += 1
        for table, rows in described.items():
            extra = next(rows, None)
            if extra is not None:
                raise _damaged(BrokenRow(table.name, extra.seq, "no entry says this"), journal)
    return VerifiedJournal(head, {**counts, ENTRIES.name: head.seq})


def require_entry(journal: JournalReader, sha256: str) -> None:
    """Refuse a chain that does not hold an entry: it was cut off before it, or is another chain.

    Raises:
        JournalDamagedError: Naming the last entry that is there.
    """
    with journal.reading() as connection:
        found = select(ENTRIES.c.seq).where(ENTRIES.c.sha256 == sha256)
        if connection.execute(found).first() is None:
            raise JournalDamagedError(
                f"the journal must hold entry {sha256}",
                was=f"{journal.head().seq} entries without it: it was cut off, or is another",
                where=str(journal.address),
                remedy="Keep the file as evidence and restore the last backup; see the runbook",
            )


class VerifiedEntry(NamedTuple):
    """A row of `entries` that is right, and its event."""

    row: Any
    event: Event


def verified_entries(connection: Connection, journal: JournalReader) -> Iterator[VerifiedEntry]:
    """Yield every entry of a chain that is right so far.

    Raises:
        JournalDamagedError: At the first one that is wrong.
    """
    head = Head()
    for row in _stream(connection, ENTRIES):
        head = _next_head(head, row, journal)
        yield VerifiedEntry(row, _event_of(row, journal))


def _next_head(head: Head, row: Any, journal: JournalReader) -> Head:
    """Return the head after a row of the chain that is right."""
    after = chain(head, row.session, row.content)
    problem = ""
    if row.seq != after.seq:
        problem = f"number must be {after.seq}, was {row.seq}: entries are missing or moved"
    elif row.previous_sha256 != head.sha256:
        problem = "it does not follow the entry before it"
    elif row.sha256 != after.sha256:
        problem = "its content is not what was hashed"
    if problem:
        raise _damaged(BrokenRow(ENTRIES.name, min(row.seq, after.seq), problem), journal)
    return after


def _event_of(row: Any, journal: JournalReader) -> Event:
    try:
        event = read_content(row.content)
    except (UserError, ValueError) as e:
        raise _damaged(BrokenRow(ENTRIES.name, row.seq, str(e)), journal) from None
    for name, expected in (("kind", event.kind), ("key", entry_key(event))):
        if getattr(row, name) != expected:
            broken = BrokenRow(ENTRIES.name, row.seq, f"column {name} must be {expected!r}")
            raise _damaged(broken, journal)
    return event


def _require_same(
    table: Table, expected: dict[str, Any], found: Any, seq: int, journal: JournalReader
) -> None:
    if found is None or found.seq != seq:
        raise _damaged(BrokenRow(table.name, seq, "the row is missing or another"), journal)
    for name, value in expected.items():
        stored = getattr(found, name)
        same = stored == value or (stored != stored and value != value)  # or both NaN
        if not same:
            problem = f"{name} must be {value!r}, was {stored!r}"
            raise _damaged(BrokenRow(table.name, seq, problem), journal)


def _stream(connection: Connection, table: Table) -> Iterator[Any]:
    """Yield the rows of a table in the order of the chain, without holding all of them."""
    after = -1
    while True:
        page = select(table).where(table.c.seq > after).order_by(table.c.seq).limit(_FETCHED)
        rows = connection.execute(page).all()
        yield from rows
        if len(rows) < _FETCHED:
            return
        after = rows[-1].seq


def _require_database(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    said = [str(row[0]) for row in connection.execute(text("PRAGMA quick_check(3)"))]
    if said != ["ok"]:
        raise JournalDamagedError(
            "journal must be a whole database",
            was="; ".join(said),
            remedy="Restore the last backup: tradingbot journal restore; see the runbook",
        )


def _damaged(broken: BrokenRow, journal: JournalReader) -> JournalDamagedError:
    return JournalDamagedError(
        "the journal must be what was written",
        was=f"otherwise first in {broken}",
        where=str(journal.address),
        remedy="Keep the file as evidence and restore the last backup; see the runbook",
    )
