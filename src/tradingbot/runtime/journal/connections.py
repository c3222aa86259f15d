"""Connections to the journal's database: durable commits, bounded waits, one writer.

SQLite: write-ahead log, `synchronous=FULL`, a busy timeout, and transactions that begin by taking
the write lock. PostgreSQL: `synchronous_commit=on`, and time limits for connecting, statements and
locks on the server's side as well as on ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, func, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.runtime.journal.address import JournalAddress
from tradingbot.runtime.journal.failures import (
    JournalDamagedError,
    JournalUnavailableError,
    NoJournalError,
)

_WRITER_LOCK = 0x7452_6164_4A6E_6C31  # any number that no other program takes in this database
_LOCK_PATIENCE_S, _LOCK_POLL_S = 1.0, 0.02
_TRANSIENT = frozenset({"40001", "40P01", "57P01", "57P02", "57P03"})
"""Codes of PostgreSQL after which the same transaction may succeed: lost races, restarts."""
_DAMAGED = ("malformed", "file is not a database", "not a database")


def make_engine(address: JournalAddress, *, timeout_s: float, writes: bool) -> Engine:
    """Return connections to a journal.

    Args:
        address: Where it lies.
        timeout_s: Longest wait for a lock, a statement, or a connection.
        writes: Transactions take the write lock at once; else they may not write.

    Raises:
        MissingExtraError: If the driver of PostgreSQL is not installed.
    """
    if address.path is not None:
        engine = create_engine(address.url, poolclass=NullPool, connect_args={"timeout": timeout_s})
        event.listen(engine, "connect", _sqlite_settings(writes=writes))
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return engine
    milliseconds = max(1, round(timeout_s * 1000))
    options = (
        f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds} "
        f"-c idle_in_transaction_session_timeout={milliseconds * 10} -c timezone=UTC "
        f"-c synchronous_commit=on -c default_transaction_read_only={'off' if writes else 'on'}"
    )
    arguments: dict[str, Any] = {
        "options": options,
        "connect_timeout": max(2, round(timeout_s)),
        "tcp_user_timeout": milliseconds,
        "application_name": "tradingbot journal",
    }
    isolation = "SERIALIZABLE" if writes else "REPEATABLE READ"
    try:
        return create_engine(
            address.url, poolclass=NullPool, connect_args=arguments, isolation_level=isolation
        )
    except ModuleNotFoundError as e:
        raise MissingExtraError("trade", package="psycopg") from e


def _sqlite_settings(*, writes: bool) -> Callable[[Any, object], None]:
    def apply(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where it guesses
        cursor = connection.cursor()
        if writes:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")
        else:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    return apply


def take_writer_lock(connection: Connection, address: JournalAddress) -> None:
    """Take the lock of the only writer of a database of PostgreSQL; it dies with the connection.

    The server may see only after a while that a connection is gone, ours of before or that of a
    process that was killed: its lock is waited for.

    Raises:
        JournalUnavailableError: If another process writes to this journal.
    """
    given_up_at = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            _take(connection, address, "pg_try_advisory_lock")
            connection.commit()
            return
        except JournalUnavailableError:
            connection.rollback()
            if time.monotonic() >= given_up_at:
                raise
        time.sleep(_LOCK_POLL_S)


def lock_transaction(connection: Connection, address: JournalAddress) -> None:
    """Take the same lock until the end of the transaction.

    Raises:
        JournalUnavailableError: If another process writes to this journal.
    """
    _take(connection, address, "pg_try_advisory_xact_lock")


def _take(connection: Connection, address: JournalAddress, function: str) -> None:
    if not connection.execute(select(getattr(func, function)(_WRITER_LOCK))).scalar():
        raise JournalUnavailableError(
            "a journal must have one writer",
            was="another process writes to it",
            where=str(address),
            remedy="Stop that process; its lock dies with its connection",
        )


@contextmanager
def explained(address: JournalAddress) -> Iterator[None]:
    """Turn errors of the driver into one line without secrets.

    Raises:
        JournalDamagedError: If the file is no database or damaged.
        JournalUnavailableError: If the database cannot be reached, is full, locked, read-only …
    """
    try:
        yield
    except SQLAlchemyError as e:
        raise explain(e, address) from None


def explain(
    error: SQLAlchemyError, address: JournalAddress
) -> JournalUnavailableError | JournalDamagedError:
    """Return what an error of the driver means, in one line without secrets."""
    said = str(getattr(error, "orig", None) or error)
    words = address.hide_secrets(" ".join(said.split()))
    if any(each in words for each in _DAMAGED):
        return JournalDamagedError(
            "journal must be a whole database",
            was=words,
            where=str(address),
            remedy="Restore the last backup: tradingbot journal restore; see the runbook",
        )
    return JournalUnavailableError(
        "journal must be writable and reachable",
        was=words,
        where=str(address),
        remedy="See the runbook: nothing is opened until a record succeeds",
    )


def is_transient(error: SQLAlchemyError) -> bool:
    """Tell whether the same transaction may succeed on a new connection."""
    if not isinstance(error, DBAPIError):
        return False
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _TRANSIENT


def check_file(path: Path) -> None:
    """Refuse a file that is no database of SQLite, by its first bytes.

    Raises:
        NoJournalError: Naming the file.
        JournalUnavailableError: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            header = file.read(16)
    except OSError as e:
        rule, remedy = "journal must be readable", "Name another, or let this user read it"
        raise JournalUnavailableError(
            rule, was=e.strerror, where=str(path), remedy=remedy
        ) from None
    if header not in (b"", b"SQLite format 3\0"):
        raise NoJournalError(
            "journal must be a database of SQLite",
            was=f"a file that begins with {header!r}",
            where=str(path),
            remedy="Name another; of a damaged one, restore the last backup: "
            "tradingbot journal restore; see the runbook",
        )


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
