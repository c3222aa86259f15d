"""P10: every change to a journal is found, and the first row that is wrong is named."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from fixtures.journals import round_trip
from fixtures.postgres import PostgresServer
from tradingbot.runtime.journal.address import read_address
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import TABLES
from tradingbot.runtime.journal.verification import verify

CHANGES: dict[str, tuple[str, str]] = {
    "a content": (
        "UPDATE entries SET content = replace(content, '0.25', '0.26') WHERE seq = 3",
        "entries 3: its content is not what was hashed",
    ),
    "a session": (
        "UPDATE entries SET session = 'two' WHERE seq = 4",
        "entries 4: its content is not what was hashed",
    ),
    "the last entry": ("DELETE FROM entries WHERE seq = 15", "audit 15: no entry says this"),
    "an entry in the middle": (
        "DELETE FROM entries WHERE seq = 5",
        "entries 5: number must be 5, was 6: entries are missing or moved",
    ),
    "a hash": (
        "UPDATE entries SET sha256 = previous_sha256 || '' WHERE seq = 1",
        "entries 1: its content is not what was hashed",
    ),
    "what it follows": (
        "UPDATE entries SET previous_sha256 = 'other' WHERE seq = 2",
        "entries 2: it does not follow the entry before it",
    ),
    "a kind": (
        "UPDATE entries SET kind = 'AlertRaised' WHERE seq = 3",
        "entries 3: column kind must be 'DecisionMade'",
    ),
    "a key": (
        "UPDATE entries SET key = NULL WHERE seq = 6",
        "entries 6: column key must be 'f1'",
    ),
    "a decision": (
        "UPDATE decisions SET raw_action = 0.5 WHERE seq = 3",
        "decisions 3: raw_action must be 0.30000000000000004, was 0.5",
    ),
    "an order": (
        "UPDATE orders SET quantity_units = 11 WHERE seq = 4",
        "orders 4: quantity_units must be Decimal('10'), was Decimal('11')",
    ),
    "a profit": (
        "UPDATE position_changes SET realised_pnl_ccy = 7 WHERE seq = 10",
        "position_changes 10: realised_pnl_ccy must be Decimal('6",
    ),
    "a row taken out": ("DELETE FROM alerts", "alerts 14: the row is missing or another"),
    "a row put in": (
        "INSERT INTO audit (seq, session, at, act, actor, reason) "
        "SELECT 14, session, at, 'arm', 'eve', reason FROM audit WHERE seq = 15",
        "audit 15: the row is missing or another",
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in SQLite."""
    path = tmp_path_factory.mktemp("written") / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(*round_trip(), session="one")
    return path


def tamper_sqlite(written: Path, folder: Path, statement: str) -> str:
    """Change a copy of a journal as its owner can, who takes the triggers away meanwhile."""
    path = shutil.copy(written, folder / "journal.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = found.fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()
    return str(path)


def tamper_postgres(server: PostgresServer, statement: str) -> str:
    """Change a new journal as a superuser can, with triggers off meanwhile."""
    address = server.new_database()
    with SessionJournal.open(address, create=True) as journal:
        journal.record(*round_trip(), session="one")
    name = read_address(address).url.database or ""
    server.execute(f"SET session_replication_role = replica; {statement}", name)
    return address


@pytest.mark.parametrize("what", CHANGES)
def test_first_broken_row_is_named_P10(written: Path, tmp_path: Path, what: str) -> None:
    statement, words = CHANGES[what]
    address = tamper_sqlite(written, tmp_path, statement)

    with JournalReader.at(address) as reader, pytest.raises(JournalDamagedError) as refusal:
        verify(reader)

    assert f"otherwise first in {words}" in str(refusal.value)


@pytest.mark.parametrize("what", ["a content", "a profit", "an entry in the middle"])
def test_session_does_not_start_on_a_broken_journal_P10(
    written: Path, tmp_path: Path, what: str
) -> None:
    address = tamper_sqlite(written, tmp_path, CHANGES[what][0])

    with pytest.raises(JournalDamagedError, match="the journal must be what was written"):
        SessionJournal.open(address)


@pytest.mark.parametrize("what", ["a content", "a profit"])
def test_broken_row_in_postgresql_is_named_P10(postgres: PostgresServer, what: str) -> None:
    statement, words = CHANGES[what]
    address = tamper_postgres(postgres, statement)

    with pytest.raises(JournalDamagedError) as refusal:
        SessionJournal.open(address)

    assert f"otherwise first in {words}" in str(refusal.value)


def test_no_row_of_any_table_can_be_changed_deleted_or_replaced(
    journal: SessionJournal, journal_address: str
) -> None:
    journal.record(*round_trip(), session="one")
    engine = create_engine(read_address(journal_address).url)
    refused = []
    for table in TABLES:
        statements = [
            f"UPDATE {table.name} SET session = session",
            f"DELETE FROM {table.name}",
        ]
        if engine.dialect.name == "sqlite":
            statements.append(f"INSERT OR REPLACE INTO {table.name} SELECT * FROM {table.name}")
        else:
            statements.append(f"TRUNCATE {table.name} CASCADE")
        for statement in statements:
            with engine.connect() as connection, pytest.raises(Exception, match="append-only"):
                connection.execute(text(statement))
            refused.append(statement)
    engine.dispose()

    assert len(refused) == 33
    assert verify(journal).head.seq == 15


def test_journal_without_a_trigger_or_a_view_is_refused(journal_address: str) -> None:
    SessionJournal.open(journal_address, create=True).close()
    engine = create_engine(read_address(journal_address).url)
    on = "" if engine.dialect.name == "sqlite" else " ON orders"
    for statement, words in (
        ("DROP VIEW trades", "every view of revision 0002, was without trades"),
        (f"DROP TRIGGER orders_no_update{on}", "every trigger of revision 0002, was without ord"),
    ):
        with engine.begin() as connection:
            connection.execute(text(statement))

        with pytest.raises(JournalDamagedError, match=words):
            SessionJournal.open(journal_address)

        if "VIEW" in statement:
            with engine.begin() as connection:
                connection.execute(text("CREATE VIEW trades AS SELECT 1 AS one"))
    engine.dispose()
