"""The database of alerts, `<workspace>/alerts/alerts.sqlite`: tables, and how it is opened.

One process (`alerts watch`) writes incidents, notices, deliveries and its heartbeat; commands add
silences and acknowledgements; pages only read. Times are ISO 8601 in UTC, lists are JSON.

| table | one row is |
|---|---|
| `incidents` | a rule breached by a subject, from its first breach to its end |
| `acknowledgements` | that a person took an incident on |
| `silences` | that notices are held back for a while; `ended_at` where it was ended early |
| `notices` | what was decided to be told |
| `deliveries` | one notice over one channel: sent or failed, after how many attempts and seconds |
| `heartbeats` | that a process watches; `stopped_at` where it ended by itself |
| `memory` | what the engine remembers of storms |
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import StorageError

FOLDER, DATABASE = "alerts", "alerts.sqlite"
VERSION = 1
_BUSY_S = 5.0
_TABLES = (
    """CREATE TABLE incidents (
        id TEXT PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL, metric TEXT NOT NULL,
        severity TEXT NOT NULL, phase TEXT NOT NULL, since TEXT NOT NULL, seen_at TEXT NOT NULL,
        value REAL, worst REAL, text TEXT NOT NULL, fired_at TEXT, resolved_at TEXT,
        announced_at TEXT, quiet_until TEXT, escalation_step INTEGER NOT NULL,
        acknowledged_by TEXT)""",
    "CREATE INDEX incidents_since ON incidents (phase, since)",
    """CREATE TABLE acknowledgements (
        incident TEXT PRIMARY KEY, at TEXT NOT NULL, by TEXT NOT NULL, reason TEXT NOT NULL)""",
    """CREATE TABLE silences (
        id TEXT PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL, made_at TEXT NOT NULL,
        until TEXT NOT NULL, by TEXT NOT NULL, reason TEXT NOT NULL, ended_at TEXT)""",
    """CREATE TABLE notices (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, severity TEXT NOT NULL, title TEXT NOT NULL,
        text TEXT NOT NULL, at TEXT NOT NULL, incidents TEXT NOT NULL, channels TEXT NOT NULL,
        n_incidents INTEGER NOT NULL, is_delivered INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE deliveries (
        id INTEGER PRIMARY KEY, notice INTEGER NOT NULL REFERENCES notices (id),
        channel TEXT NOT NULL, at TEXT NOT NULL, is_sent INTEGER NOT NULL,
        attempts INTEGER NOT NULL, seconds REAL NOT NULL, stands_in_for TEXT, problem TEXT)""",
    "CREATE INDEX deliveries_notice ON deliveries (notice)",
    """CREATE TABLE heartbeats (
        name TEXT PRIMARY KEY, at TEXT NOT NULL, process INTEGER NOT NULL,
        interval_s REAL NOT NULL, stopped_at TEXT)""",
    "CREATE TABLE memory (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)


def database_path(workspace: Path) -> Path:
    """Return where the alerts of a workspace are kept."""
    return workspace / FOLDER / DATABASE


def connect(path: Path, *, writes: bool) -> sqlite3.Connection:
    """Open the database, made where it is to be written and absent.

    Raises:
        StorageError: If it is no such database, of a later version, or the disk refuses.
    """
    with explained(path):
        if writes:
            path.parent.mkdir(parents=True, exist_ok=True)
        mode = "rwc" if writes else "ro"
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        try:
            if writes:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
            _require_version(connection, path, writes=writes)
        except BaseException:
            connection.close()
            raise
    return connection


def read_rows(path: Path, query: str, *values: Any) -> list[sqlite3.Row]:
    """Return rows; none where there is no database, or another process is about to make it.

    Raises:
        StorageError: If it cannot be read.
    """
    if not path.is_file():
        return []
    connection = connect(path, writes=False)
    try:
        with explained(path):
            if not _has_tables(connection):
                return []
            return connection.execute(query, values).fetchall()
    finally:
        connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Write everything of the block or nothing.

    Raises:
        StorageError: If the disk refuses.
    """
    with explained(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses in the block into one line about the file."""
    try:
        yield
    except (sqlite3.Error, OSError) as e:
        rule, remedy = "the database of alerts must be readable and writable", "Free space, or move"
        remedy = f"{remedy} the file aside: incidents that last are found again"
        raise StorageError(rule, was=e, where=str(path), remedy=remedy) from e


def _require_version(connection: sqlite3.Connection, path: Path, *, writes: bool) -> None:
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == 0 and writes:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={VERSION}")
        connection.commit()
        return
    has_tables = _has_tables(connection)
    if found == 0 and has_tables:  # another process may have made them in between
        found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != VERSION and (found or has_tables):
        raise StorageError(
            f"the database of alerts must be of version {VERSION}",
            was=f"version {found}",
            where=str(path),
            remedy="Use the program that wrote it, or move the file aside",
        )


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
