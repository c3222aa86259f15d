"""The journal of trading sessions: what is recorded is durable when `record` returns.

Where the database does not confirm within the budget, the events are kept in a file beside it, in
their order, and `JournalUnavailableError` is raised: nothing may be opened on a record that is not
confirmed. The next record that finds the database writes what was kept first.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from tradingbot.domain.errors import StorageError, TradingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.runs.lock import hold_lock
from tradingbot.runtime.journal.address import JournalAddress, read_address
from tradingbot.runtime.journal.buffer import BatchBuffer
from tradingbot.runtime.journal.connections import (
    explain,
    is_transient,
    make_engine,
    require_journal_file,
    take_writer_lock,
)
from tradingbot.runtime.journal.database import create_schema, lock_file
from tradingbot.runtime.journal.entry import Head
from tradingbot.runtime.journal.failures import JournalDamagedError, JournalUnavailableError
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import POSITION_CHANGES
from tradingbot.runtime.journal.verification import verify
from tradingbot.runtime.journal.worker import DatabaseWorker
from tradingbot.runtime.journal.writing import Batch, write_batch

TIMEOUT_S = 5.0
"""Longest wait of a record for the database, by default."""
RETRY_AFTER_S = 1.0
"""Pause after a failure before the database is asked again."""
MAX_BUFFERED_EVENTS = 10_000
_ATTEMPTS = 3


class SessionJournal(JournalReader):
    """A journal that is open to write: the only writer, in this process or any other.

    Made by `SessionJournal.open`.
    """

    def __init__(
        self, address: JournalAddress, locks: ExitStack, buffer: Path | None, timeout_s: float
    ) -> None:
        super().__init__(address)
        self._locks, self._timeout_s = locks, timeout_s
        self._writers = make_engine(address, timeout_s=timeout_s, writes=True)
        self._connection: Connection | None = None
        self._inode = None if address.path is None else address.path.stat().st_ino
        self._worker = DatabaseWorker()
        self._recording = threading.Lock()
        self._blocked_until = 0.0
        place = buffer or (address.path and address.path.with_name(f"{address.path.name}.buffer"))
        self._buffer = BatchBuffer(place, max_events=MAX_BUFFERED_EVENTS) if place else None

    @classmethod
    def open(
        cls,
        address: str | Path | JournalAddress,
        *,
        create: bool = False,
        buffer: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Self:
        """Open a journal to write, verify it, and write what an earlier process left buffered.

        Args:
            address: A path, or an address as `read_address` takes it.
            create: Make the journal where there is none; one of an older schema is not touched.
            buffer: File for events that the database does not confirm; by default beside a journal
                in SQLite, and none for PostgreSQL.
            timeout_s: Longest wait of a record for the database.

        Raises:
            ConfigError: If there is no journal, or another process writes to it.
            JournalDamagedError: If its chain is broken or its schema not the program's.
            JournalUnavailableError: If its database cannot be reached or written.
        """
        place = read_address(address)
        with ExitStack() as opening:
            locks = opening.enter_context(ExitStack())
            if place.path is not None:
                if create:
                    place.path.parent.mkdir(parents=True, exist_ok=True)
                else:
                    require_journal_file(place.path)
                locks.enter_context(hold_lock(lock_file(place.path), "journal"))
            if create:
                create_schema(place, timeout_s=timeout_s)
            journal = cls(place, locks, buffer, timeout_s)
            opening.callback(journal.close)
            verify(journal, tables=(POSITION_CHANGES,))
            journal._start()
            opening.pop_all()  # nothing went wrong: it stays open
        return journal

    @property
    def buffered_events(self) -> int:
        """Events that wait on disk for the database."""
        batches = self._buffer.batches if self._buffer else ()
        return sum(len(batch.events) for batch in batches)

    def record(self, *events: Event, session: str) -> Head:
        """Write events in one transaction; they are durable when this returns.

        A fill or a decision that the journal has already is passed over.

        Args:
            events: In their order.
            session: Name of the session that they belong to.

        Returns:
            Number and hash of the last entry of the chain.

        Raises:
            JournalUnavailableError: If the database does not confirm them in time: open nothing.
                `is_buffered` tells whether they are kept on disk and will be written later.
            TradingError: If a fill or a decision is journaled already and says something else, or
                the session has no name.
        """
        if not session.strip():
            raise TradingError("session must have a name", was=repr(session), where="journal")
        batch = Batch(secrets.token_hex(16), session, events)
        _ = batch.contents  # what cannot be written must not reach the buffer
        with self._recording:
            if time.monotonic() < self._blocked_until:
                raise self._keep(batch, "it did not answer a moment ago")
            try:
                return self._worker.do(lambda: self._write(batch), self._timeout_s)
            except TimeoutError:
                raise self._keep(batch, f"no answer within {self._timeout_s:g} s") from None
            except DBAPIError as e:
                raise self._keep(batch, str(explain(e, self.address).was)) from None
            except StorageError as e:
                raise self._keep(batch, str(e)) from None

    def flush(self) -> bool:
        """Write what is buffered, and tell whether nothing waits any more: opening may resume."""
        with self._recording:
            try:
                self._worker.do(self._flush, self._timeout_s)
            except (TimeoutError, DBAPIError, StorageError):
                return False
            return True

    def close(self) -> None:
        """Give up the lock and the connections; what is buffered stays for the next opening."""
        super().close()
        if not self._worker.is_busy:
            self._worker.do(self._disconnect, self._timeout_s)
        self._worker.close()
        self._locks.close()

    def _start(self) -> None:
        """Take the writer's lock and write what is buffered.

        Raises:
            JournalUnavailableError: If the database does not let us.
        """
        try:
            self._worker.do(self._flush, self._timeout_s * 10)
        except TimeoutError:
            words = f"no answer within {self._timeout_s * 10:g} s"
            raise _unavailable(self.address, words) from None
        except SQLAlchemyError as e:
            raise explain(e, self.address) from None

    def _keep(self, batch: Batch, words: str) -> JournalUnavailableError:
        """Buffer a batch that was not confirmed, and return what to raise."""
        self._blocked_until = time.monotonic() + RETRY_AFTER_S
        kept = "no buffer is set"
        if self._buffer is not None:
            try:
                self._buffer.append(batch)
                kept = ""
            except StorageError as e:
                kept = str(e)
        note = "kept on disk to be written later" if not kept else f"not kept: {kept}"
        error = _unavailable(self.address, f"{words}; {len(batch.events)} events {note}")
        error.is_buffered = not kept
        return error

    # Everything below runs in the worker's thread.

    def _write(self, batch: Batch) -> Head:
        self._flush()
        return self._commit(batch)

    def _flush(self) -> None:
        """Write the buffered batches, oldest first; one that contradicts the journal is alerted."""
        self._connected()
        batches = self._buffer.batches if self._buffer else ()
        for batch in batches:
            try:
                self._commit(batch)
            except TradingError as e:
                text = f"{e} Refused: {' '.join(batch.contents)}"
                alert = AlertRaised(batch.at, AlertLevel.CRITICAL, "JOURNAL_CONFLICT", text)
                self._commit(replace(batch, events=(alert,)))
        if self._buffer and batches:
            self._buffer.drop(len(batches))

    def _commit(self, batch: Batch) -> Head:
        """Write a batch, again after a lost connection or a lost race: it is written once."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                connection = self._connected()
                with connection.begin():
                    return write_batch(connection, batch)
            except (DataError, IntegrityError) as e:
                raise TradingError(
                    "an event must fit into its columns", was=str(e.orig), where="journal"
                ) from None
            except DBAPIError as e:
                self._disconnect()
                if attempt == _ATTEMPTS or not is_transient(e):
                    raise
        raise AssertionError

    def _connected(self) -> Connection:
        path = self.address.path
        if path is not None and (not path.is_file() or path.stat().st_ino != self._inode):
            self._disconnect()
            raise JournalDamagedError(
                "the journal's file must stay where it is while a session writes to it",
                was="moved, deleted or replaced",
                where=str(path),
                remedy="Stop the session, put the file back, and start again",
            )
        if self._connection is None:
            connection = self._writers.connect()
            try:
                if path is None:
                    take_writer_lock(connection, self.address)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()


def _unavailable(address: JournalAddress, words: str) -> JournalUnavailableError:
    return JournalUnavailableError(
        "journal must confirm what is recorded",
        was=words,
        where=str(address),
        remedy="Nothing is opened until a record succeeds; see the runbook",
    )
