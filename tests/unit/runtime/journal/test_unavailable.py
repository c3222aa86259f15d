"""If the journal cannot be written nothing opens; what is recorded meanwhile is kept, once."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fixtures.journals import decision, round_trip
from fixtures.order_records import accepted, fill
from fixtures.postgres import PostgresServer
from fixtures.slow_proxy import SlowProxy
from tradingbot.domain.events.trading import OrderFilled
from tradingbot.runtime.journal import journal as journal_module
from tradingbot.runtime.journal.address import read_address
from tradingbot.runtime.journal.buffer import BatchBuffer
from tradingbot.runtime.journal.connections import make_engine, take_writer_lock
from tradingbot.runtime.journal.failures import JournalDamagedError, JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.tables import ENTRIES
from tradingbot.runtime.journal.verification import verify
from tradingbot.runtime.journal.writing import Batch


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "RETRY_AFTER_S", 0.0)


def refused(journal: SessionJournal, *events: Any) -> JournalUnavailableError:
    with pytest.raises(JournalUnavailableError) as refusal:
        journal.record(*events, session="one")
    return refusal.value


def flush(journal: SessionJournal) -> None:
    """Wait until nothing is buffered any more."""
    deadline = time.monotonic() + 30
    while not journal.flush():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class OtherWriter:
    """Holds SQLite's write lock, as a backup program or a person's shell may."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def stop(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def test_locked_database_is_told_and_what_was_recorded_follows_in_order_P03(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True, timeout_s=0.3) as journal:
        journal.record(decision(), session="one")
        other = OtherWriter(path)
        begun = time.monotonic()

        error = refused(journal, decision(hour=1))

        assert time.monotonic() - begun < 3
        assert error.is_buffered
        assert "kept on disk to be written later" in str(error)
        assert refused(journal, decision(hour=2), decision(hour=3)).is_buffered
        assert (journal.head().seq, journal.buffered_events) == (1, 3)
        other.stop()
        flush(journal)

        assert journal.record(decision(hour=4), session="one").seq == 5
        assert journal.buffered_events == 0
        assert [each.decided_at.hour for each in journal.decisions("one")] == [*range(15, 20)]
        verify(journal)


def test_buffer_is_bounded_P12(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "MAX_BUFFERED_EVENTS", 3)
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True, timeout_s=0.1) as journal:
        other = OtherWriter(path)
        assert refused(journal, decision(hour=1), decision(hour=2)).is_buffered

        error = refused(journal, decision(hour=3), decision(hour=4))

        assert not error.is_buffered
        assert "events that wait for the journal must be at most 3, was 4" in str(error)
        other.stop()


def test_buffered_events_survive_the_process_P01(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    SessionJournal.open(path, create=True).close()
    lost = Batch("ab" * 16, "one", tuple(round_trip()))
    buffer = BatchBuffer(tmp_path / "journal.sqlite.buffer", max_events=100)
    buffer.append(lost)
    buffer.append(Batch("cd" * 16, "one", (decision(hour=7),)))
    torn = buffer._path.read_bytes()
    buffer._path.write_bytes(torn + b'{"batch": "ef')  # a kill in the middle of a third

    with SessionJournal.open(path) as journal:
        assert journal.events("one") == (*round_trip(), decision(hour=7))
        assert journal.buffered_events == 0
    with SessionJournal.open(path) as journal:
        assert journal.head().seq == 16


def test_batch_that_the_database_has_already_is_not_written_twice_P02(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(*round_trip(), session="one")
        name = journal.rows(ENTRIES)[0]["batch"]
    BatchBuffer(tmp_path / "journal.sqlite.buffer", max_events=100).append(
        Batch(name, "one", tuple(round_trip()))
    )

    with SessionJournal.open(path) as journal:
        assert journal.head().seq == len(round_trip())


def test_buffered_contradiction_becomes_an_alert_and_blocks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(OrderFilled(fill(accepted(), "4"), fill(accepted(), "6").price), session="x")
    other = OrderFilled(fill(accepted(), "5"), fill(accepted(), "5").price)
    BatchBuffer(tmp_path / "journal.sqlite.buffer", max_events=100).append(
        Batch("ab" * 16, "x", (decision(), other))
    )

    with SessionJournal.open(path) as journal:
        alert = journal.events("x")[1]

    assert alert.kind == "AlertRaised"
    assert alert.code == "JOURNAL_CONFLICT"  # type: ignore[attr-defined]
    assert '"quantity_units":"5"' in alert.text  # type: ignore[attr-defined]
    assert "DecisionMade" in alert.text  # type: ignore[attr-defined]


def test_damaged_buffer_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "buffer"
    buffer = BatchBuffer(place, max_events=10)
    buffer.append(Batch("ab" * 16, "one", (decision(),)))
    buffer.append(Batch("cd" * 16, "one", (decision(hour=1),)))
    place.write_bytes(place.read_bytes().replace(b"0.25", b"0.26", 1))

    with pytest.raises(JournalDamagedError, match="another in line 1"):
        BatchBuffer(place, max_events=10)


def test_read_only_database_is_refused_P05(tmp_path: Path) -> None:
    with SessionJournal.open(tmp_path / "journal.sqlite", create=True) as journal:
        set_pragma(journal, "query_only=ON")

        error = refused(journal, decision())

        assert "attempt to write a readonly database" in str(error)
        assert error.is_buffered


def test_file_that_is_replaced_while_open_is_refused_P05(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(decision(), session="one")
        path.rename(tmp_path / "moved.sqlite")

        error = refused(journal, decision(hour=1))

        assert "moved, deleted or replaced" in str(error)
        assert error.is_buffered


def test_full_disk_is_refused_and_leaves_a_whole_file_P05(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        before = journal.record(decision(), session="one")
        with journal._writers.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        set_pragma(journal, f"max_page_count={int(pages or 0) + 2}")

        error = refused(journal, *(decision(f"S{n}", hour=1) for n in range(500)))

        assert "database or disk is full" in str(error)
        assert journal.head() == before
        verify(journal)
        # Room again: what was kept is written.
        assert journal.record(decision(hour=2), session="one").seq == 502
        verify(journal)


def set_pragma(journal: SessionJournal, setting: str) -> None:
    """Let SQLite find the disk full or read-only, on the journal's own connection."""

    def apply() -> None:
        connection = journal._connected()
        connection.exec_driver_sql(f"PRAGMA {setting}")
        connection.rollback()

    journal._worker.do(apply, 5)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"\xff" * 32 + content[32:], "was a file that begins with"),
        (lambda content: content[:4096] + b"\xaa" * 4096 + content[8192:], "damaged|malformed"),
        (lambda content: b"not a journal", "was a file that begins with b'not a journal'"),
    ],
)
def test_damaged_file_is_refused_with_the_way_back_P06(
    tmp_path: Path, damage: Any, words: str
) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(*round_trip(), session="one")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(JournalDamagedError, match=r"Restore|schema|must be") as refusal:
        SessionJournal.open(path)

    assert "runbook" in str(refusal.value)


# PostgreSQL


@pytest.fixture
def distant(postgres: PostgresServer, tmp_path: Path) -> Iterator[tuple[SlowProxy, str, Path]]:
    """A journal's database behind a proxy, its address, and a place for the buffer."""
    name = read_address(postgres.new_database()).url.database
    proxy = SlowProxy(postgres.folder / ".s.PGSQL.5432")
    address = f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"
    yield proxy, address, tmp_path / "journal.buffer"
    proxy.close()


def test_database_that_is_down_at_the_start_refuses_it_P01(postgres: PostgresServer) -> None:
    address = postgres.address("no_such_database").replace("postgres@", "ada:s3cr3t-w0rd@")

    with pytest.raises(JournalUnavailableError, match="must be writable and reachable") as refusal:
        SessionJournal.open(address, create=True)

    assert "s3cr3t" not in str(refusal.value)


def test_lost_connections_and_lost_answers_are_tried_again_once_written_P02(
    distant: tuple[SlowProxy, str, Path], postgres: PostgresServer
) -> None:
    proxy, address, buffer = distant
    name = read_address(address).url.database or ""
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    with SessionJournal.open(address, create=True, buffer=buffer) as journal:
        journal.record(decision(), session="one")
        postgres.execute(end)

        assert journal.record(decision(hour=1), session="one").seq == 2
        proxy.loses_commits = 1
        assert journal.record(decision(hour=2), session="one").seq == 3
        assert proxy.loses_commits == 0
        assert len(journal.decisions("one")) == 3
        verify(journal)


_LOSE_TWO_RACES = """
CREATE SEQUENCE races;
GRANT ALL ON SEQUENCE races TO PUBLIC;
CREATE FUNCTION lose_race() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF nextval('races') <= 2 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '%CODE%'; END IF;
RETURN NEW; END $$;
CREATE TRIGGER lose_race BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION lose_race();
"""


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_serialization_failures_and_deadlocks_are_tried_again_P02(
    postgres: PostgresServer, code: str
) -> None:
    address = postgres.new_database()
    with SessionJournal.open(address, create=True) as journal:
        statements = _LOSE_TWO_RACES.replace("%CODE%", code)
        postgres.execute(statements, read_address(address).url.database or "")

        assert journal.record(decision(), session="one").seq == 1


def test_a_lock_that_dies_a_moment_later_is_waited_for_P02(postgres: PostgresServer) -> None:
    """A server sees after a while that a connection is gone; until then its lock is held."""
    address = read_address(postgres.new_database())
    gone = make_engine(address, timeout_s=5.0, writes=True).connect()
    take_writer_lock(gone, address)

    with pytest.raises(JournalUnavailableError, match="must have one writer"):
        SessionJournal.open(address, create=True)
    threading.Timer(0.2, gone.close).start()
    with SessionJournal.open(address, create=True) as journal:
        assert journal.record(decision(), session="one").seq == 1


def test_slow_database_keeps_no_record_waiting_beyond_its_budget_P12(
    distant: tuple[SlowProxy, str, Path],
) -> None:
    proxy, address, buffer = distant
    with SessionJournal.open(address, create=True, buffer=buffer, timeout_s=0.5) as journal:
        journal.record(decision(), session="one")
        proxy.delay_s = 2.0
        waited = []
        for hour in range(1, 4):
            begun = time.monotonic()
            assert refused(journal, decision(hour=hour)).is_buffered
            waited.append(time.monotonic() - begun)

        assert max(waited) < 1.5  # and the second and third do not wait at all
        assert journal.buffered_events == 3
        proxy.delay_s = 0.0
        flush(journal)

        assert journal.record(decision(hour=4), session="one").seq == 5
        assert [each.decided_at.hour for each in journal.decisions("one")] == [*range(15, 20)]


def test_database_that_goes_down_stops_opening_and_resumes_P01(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.new_database()
    name = read_address(address).url.database or ""
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    with SessionJournal.open(address, create=True, buffer=tmp_path / "buffer") as journal:
        journal.record(*round_trip(), session="one")
        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.execute(end)

        error = refused(journal, decision(hour=7))

        assert error.is_buffered
        assert "not currently accepting connections" in str(error)
        assert not journal.flush()
        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert journal.flush()
        assert journal.events("one") == (*round_trip(), decision(hour=7))


@pytest.mark.slow
def test_power_cut_of_the_server_loses_nothing_that_was_confirmed_P01_P04(
    distant: tuple[SlowProxy, str, Path], postgres: PostgresServer
) -> None:
    _, address, buffer = distant
    with SessionJournal.open(address, create=True, buffer=buffer, timeout_s=2) as journal:
        journal.record(*round_trip(), session="one")
        postgres.stop(signal.SIGQUIT)
        try:
            error = refused(journal, decision(hour=7))
        finally:
            postgres.start()

        assert error.is_buffered
        flush(journal)
        assert journal.record(decision(hour=8), session="one").seq == len(round_trip()) + 2
        assert journal.events("one") == (*round_trip(), decision(hour=7), decision(hour=8))
        verify(journal)
