"""P04: SIGKILL at any moment of a commit; what was confirmed is there, and nothing by halves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.journals import decision
from tradingbot.domain.seeding import stream
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.verification import verify

_SYMBOLS = 20  # entries of one record: a commit of several pages
_VERIFY_EVERY = 20  # kills


def write_until_killed(address: str, told: int, first: int) -> None:
    """Record decisions without end; say the number of each record that was confirmed."""
    with SessionJournal.open(address) as journal:
        for hour in range(first, first + 100_000):
            events = [decision(f"S{n}", hour=hour) for n in range(_SYMBOLS)]
            journal.record(*events, session="one")
            os.write(told, f"{hour}\n".encode())


def kill_after(address: str, seconds: float, first: int) -> int:
    """Return the last record that a writer confirmed before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_until_killed(address, writing, first)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as told:
        first_told = told.readline()  # from then on a commit is under way nearly always
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        confirmed = [first_told, *told.read().split()]
    assert os.WIFSIGNALED(status)
    return int(confirmed[-1])


def kill_often(address: str, times: int, longest_s: float) -> int:
    SessionJournal.open(address, create=True).close()
    waits = stream(7, "kills").random(times) * longest_s
    written = 0
    for number, wait in enumerate(waits, start=1):
        confirmed = kill_after(address, float(wait), written)
        with SessionJournal.open(address) as journal:  # ready at once, whatever the kill left
            entries = journal.head().seq
            if number % _VERIFY_EVERY == 0 or number == times:  # all of it: longer every time
                verify(journal)
                hours = {each.decided_at for each in journal.decisions("one")}
                assert len(hours) * _SYMBOLS == entries
        # Whole records alone, all that were confirmed, at most the one in flight beside them.
        assert entries % _SYMBOLS == 0
        written = entries // _SYMBOLS
        assert written - (confirmed + 1) in (0, 1)
    return written


def test_killed_writer_leaves_whole_records_P04(new_journal_address: Callable[[], str]) -> None:
    assert kill_often(new_journal_address(), 3, 0.15) > 0


@pytest.mark.slow
def test_killed_writer_leaves_whole_records_P04_often(
    new_journal_address: Callable[[], str],
) -> None:
    assert kill_often(new_journal_address(), 200, 0.03) > 0


def test_killed_buffer_loses_nothing_that_was_kept_P01(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    SessionJournal.open(path, create=True).close()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            journal = SessionJournal.open(path)
            journal._blocked_until = float("inf")  # the database answers nothing
            for hour in range(100_000):
                try:
                    journal.record(decision(hour=hour), session="one")
                except JournalUnavailableError as e:
                    if not e.is_buffered:
                        break
                os.write(writing, f"{hour}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as told:
        for _ in range(5):
            told.readline()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kept = 5 + len(told.read().split())

    with SessionJournal.open(path) as journal:
        assert len(journal.decisions("one")) - kept in (0, 1)
