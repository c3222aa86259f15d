"""Databases for journals: SQLite in a folder, and a PostgreSQL that the session starts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fixtures.postgres import new_journal_address, postgres, postgres_server
from tradingbot.runtime.journal.journal import SessionJournal

__all__ = ["journal", "journal_address", "new_journal_address", "postgres", "postgres_server"]


@pytest.fixture
def journal_address(new_journal_address: Callable[[], str]) -> str:
    """Address of an empty database, of SQLite and of PostgreSQL in turn."""
    return new_journal_address()


@pytest.fixture
def journal(journal_address: str) -> Iterator[SessionJournal]:
    """A new journal, open to write."""
    with SessionJournal.open(journal_address, create=True) as opened:
        yield opened
