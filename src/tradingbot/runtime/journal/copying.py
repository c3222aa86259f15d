"""Backup and restore: a journal is copied entry by entry, verified on the way and afterwards.

A backup is a journal in one file of SQLite, whichever database it was taken from, and is restored
into either. The copy has the same entries, the same hashes and the same head; its tables are
derived again. Sessions may go on writing: the copy is of one moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert

from tradingbot.data.atomic import atomic_file
from tradingbot.domain.errors import ConfigError
from tradingbot.runtime.journal.address import JournalAddress, read_address
from tradingbot.runtime.journal.columns_of_events import EmptyLookup, EventColumns
from tradingbot.runtime.journal.connections import explained, lock_transaction, make_engine
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.schema import migrate, require_schema, revision_of
from tradingbot.runtime.journal.tables import ENTRIES
from tradingbot.runtime.journal.verification import (
    VerifiedEntry,
    VerifiedJournal,
    verified_entries,
    verify,
)
from tradingbot.runtime.journal.writing import read_head

_COPY_TIMEOUT_S = 60.0
_WRITTEN = 1_000  # entries at a time


def back_up(source: JournalReader, path: Path, *, until: int | None = None) -> VerifiedJournal:
    """Copy a journal into a new file of SQLite: the whole file appears, or none.

    Args:
        source: Any.
        path: The file.
        until: Number of the last entry to take; None for all.

    Raises:
        ConfigError: If the file is there already.
        JournalDamagedError: If the journal is not what was written, naming the first broken row.
        StorageError: If the disk refuses.
    """
    _require_absent(path)
    with atomic_file(path) as temporary:
        temporary.unlink()  # an empty file is no database
        try:
            return _copy(source, read_address(temporary), until=until)
        finally:
            for ending in ("-wal", "-shm"):
                temporary.with_name(temporary.name + ending).unlink(missing_ok=True)


def restore(
    backup: JournalReader, target: JournalAddress, *, until: int | None = None
) -> VerifiedJournal:
    """Copy a backup into a place without a journal.

    Args:
        backup: A journal in a file.
        target: A new file of SQLite, or a database of PostgreSQL whose journal is empty.
        until: Number of the last entry to take: the state of an earlier moment; None for all.

    Returns:
        What was restored, verified.

    Raises:
        ConfigError: If there is a journal already.
        JournalDamagedError: If the backup is not what was written, naming the first broken row.
        StorageError: If the disk or the database refuses.
    """
    if target.path is not None:
        return back_up(backup, target.path, until=until)
    return _copy(backup, target, until=until)


def _copy(source: JournalReader, target: JournalAddress, *, until: int | None) -> VerifiedJournal:
    with _writing(target) as writing, source.reading() as reading:
        columns = EventColumns(EmptyLookup())
        entries = islice(verified_entries(reading, source), until)
        head = 0
        while page := [*islice(entries, _WRITTEN)]:
            head = page[-1].row.seq
            with explained(target):
                _write(writing, page, columns)
    if until is not None and head != until:
        rule = "--until must be the number of an entry"
        raise ConfigError(rule, was=until, where=str(source.address), remedy=f"At most {head}")
    with JournalReader(target) as copy:
        made = verify(copy)
    if made.head.seq != head:
        raise JournalDamagedError(
            f"a copy must have all {head} entries", was=made.head.seq, where=str(target)
        )
    return made


@contextmanager
def _writing(target: JournalAddress) -> Iterator[Connection]:
    """Yield a transaction in an empty journal, made where there is none."""
    engine = make_engine(target, timeout_s=_COPY_TIMEOUT_S, writes=True)
    try:
        with explained(target), engine.begin() as connection:
            if target.path is None:
                lock_transaction(connection, target)
            if revision_of(connection) is None:
                migrate(connection)
            require_schema(connection)
            if entries := read_head(connection).seq:
                raise ConfigError(
                    "a journal must be restored into an empty place",
                    was=f"one with {entries} entries",
                    where=str(target),
                    remedy="Name a new file or an empty database",
                )
            yield connection
    finally:
        engine.dispose()


def _write(connection: Connection, page: list[VerifiedEntry], columns: EventColumns) -> None:
    rows: dict[Table, list[dict[str, Any]]] = {ENTRIES: []}
    for entry in page:
        rows[ENTRIES].append(dict(entry.row._mapping))
        for table, row in columns.rows(entry.row.seq, entry.row.session, entry.event):
            rows.setdefault(table, []).append(row)
    for table, values in rows.items():
        connection.execute(insert(table), values)


def _require_absent(path: Path) -> None:
    if path.exists():
        rule, remedy = "a copy of a journal must be a new file", "Name another, or move it away"
        raise ConfigError(rule, was="a file", where=str(path), remedy=remedy)
    if not path.absolute().parent.is_dir():
        rule = "a copy of a journal must lie in a folder that exists"
        remedy = f"Make the folder {path.absolute().parent}"
        raise ConfigError(rule, was=repr(str(path)), remedy=remedy)
