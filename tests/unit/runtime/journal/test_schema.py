"""P07: migrations are whole or absent; a newer schema and half a migration are refused."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_mock_engine, inspect, text
from sqlalchemy.schema import CreateIndex, CreateTable

from fixtures.journals import decision
from tradingbot.runtime.journal import schema
from tradingbot.runtime.journal.address import read_address
from tradingbot.runtime.journal.connections import make_engine
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.migrations import append_only
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import METADATA, TABLES

FIRST_TABLES = {
    "sqlite": "ae5120d642adae2e572c0c8cf1ab4bbe62dcc5b36f5f3b106ede5495a515d172",
    "postgresql": "480f0f3661ea7b37cdd09566488b8071a5050bde84dea92ead760ffd8df53517",
}
"""Database → hash of what revision 0001 makes."""


def engine_of(address: str) -> Engine:
    return make_engine(read_address(address), timeout_s=5, writes=True)


def migrate_to(connection: Connection, revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring a database to an older revision, as an older version of the program did."""
    with monkeypatch.context() as patch:
        patch.setattr(schema, "known_revisions", lambda: ("0001",))
        patch.setattr(schema, "require_schema", lambda _: None)
        assert revision == "0001"
        schema.migrate(connection)


def test_tables_are_those_that_the_program_describes(journal_address: str) -> None:
    engine = engine_of(journal_address)
    with engine.begin() as connection:
        assert schema.migrate(connection) == (None, "0002")
        assert schema.migrate(connection) == ("0002", "0002")
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        differences = compare_metadata(context, METADATA)
        views = set(inspect(connection).get_view_names())
    engine.dispose()

    assert differences == []
    assert views == {*schema.VIEWS}


def test_older_journal_is_refused_until_it_is_migrated_P07(
    journal_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(journal_address)
    with engine.begin() as connection:
        migrate_to(connection, "0001", monkeypatch)
    with pytest.raises(JournalDamagedError, match=r"revision 0002, was 0001 \(.*\. Run: trad"):
        SessionJournal.open(journal_address)
    with pytest.raises(JournalDamagedError, match="was 0001"):
        SessionJournal.open(journal_address, create=True)
    with engine.begin() as connection:
        assert schema.migrate(connection) == ("0001", "0002")
    engine.dispose()

    with SessionJournal.open(journal_address) as journal:
        assert journal.record(decision(), session="one").seq == 1


def test_newer_journal_is_refused_P07(journal_address: str) -> None:
    SessionJournal.open(journal_address, create=True).close()
    engine = engine_of(journal_address)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0099'"))

    with pytest.raises(JournalDamagedError, match=r"was 0099 \(.*\. Use the version"):
        JournalReader.at(journal_address)
    with engine.begin() as connection, pytest.raises(JournalDamagedError, match="was 0099"):
        schema.migrate(connection)
    engine.dispose()


def test_migration_that_fails_leaves_nothing_behind_P07(
    journal_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(journal_address)
    with monkeypatch.context() as patch:
        patch.setattr(append_only, "_SQLITE", (*append_only._SQLITE, "CREATE NONSENSE"))
        patch.setattr(append_only, "_POSTGRES", (*append_only._POSTGRES, "CREATE NONSENSE"))
        with pytest.raises(Exception, match="NONSENSE"), engine.begin() as connection:
            schema.migrate(connection)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == []
        schema.migrate(connection)
    engine.dispose()


def test_half_a_migration_is_refused_P07(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (seq INTEGER)")
    connection.close()

    for opens in (SessionJournal.open, lambda place: SessionJournal.open(place, create=True)):
        with pytest.raises(JournalDamagedError, match="a migration was interrupted"):
            opens(str(path))


@pytest.mark.parametrize("dialect", FIRST_TABLES)
def test_released_revision_does_not_change(dialect: str) -> None:
    """A change to a table is a revision of its own; 0001 then gets its tables as they are here."""
    engine = create_mock_engine(f"{dialect}://", lambda *_: None)
    indexes = sorted(
        (each for table in TABLES for each in table.indexes), key=lambda i: str(i.name)
    )
    parts = [*map(CreateTable, TABLES), *map(CreateIndex, indexes)]
    tables = [str(part.compile(dialect=engine.dialect)) for part in parts]
    triggers = append_only.append_only_statements(dialect, tuple(each.name for each in TABLES))
    made = hashlib.sha256("\n".join([*tables, *triggers]).encode()).hexdigest()

    assert made == FIRST_TABLES[dialect]


def test_foreign_database_is_left_alone(new_journal_address: Callable[[], str]) -> None:
    address = new_journal_address()
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE theirs (x INTEGER)"))
    engine.dispose()

    with pytest.raises(JournalDamagedError, match="must be revision 0002, was no journal"):
        SessionJournal.open(address)
