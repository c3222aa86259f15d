"""P11: a backup and what is restored from it have the same rows and hashes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fixtures.journals import decision, round_trip
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.runtime.journal import copying
from tradingbot.runtime.journal.address import read_address
from tradingbot.runtime.journal.copying import back_up, restore
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import DECISIONS, TABLES
from tradingbot.runtime.journal.verification import verify


def contents(journal: JournalReader) -> dict[str, object]:
    return {table.name: journal.rows(table) for table in TABLES}


def test_backup_and_restore_have_the_same_rows_and_hashes_P11(
    new_journal_address: Callable[[], str], tmp_path: Path
) -> None:
    with SessionJournal.open(new_journal_address(), create=True) as journal:
        journal.record(*round_trip(), session="one")
        backup = tmp_path / "backup.sqlite"
        taken = back_up(journal, backup)  # while it is open to write
        journal.record(decision(hour=9), session="one")
        before = contents(journal)

        assert taken.head.seq == len(round_trip())
        assert [path.name for path in tmp_path.glob("backup*")] == ["backup.sqlite"]
        with JournalReader.at(backup) as copy:
            assert copy.events("one") == tuple(round_trip())
            back = new_journal_address()
            restored = restore(copy, read_address(back))
        assert restored == taken
    with SessionJournal.open(back) as again:
        again.record(decision(hour=9), session="one")
        after = contents(again)
        assert verify(again).head.seq == len(round_trip()) + 1
    names = [row.pop("batch") for each in (before, after) for row in each["entries"][-1:]]  # type: ignore[index]
    assert names[0] != names[1]
    assert after == before


def test_copy_whose_tables_say_something_else_is_refused_P11(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fewer(copying.EventColumns):
        def rows(self, *entry: Any) -> Any:
            return [each for each in super().rows(*entry) if each[0] is not DECISIONS]

    monkeypatch.setattr(copying, "EventColumns", Fewer)
    with SessionJournal.open(tmp_path / "journal.sqlite", create=True) as journal:
        journal.record(decision(hour=1), session="one")
        with pytest.raises(JournalDamagedError, match="decisions"):
            restore(journal, read_address(tmp_path / "copy.sqlite"))


def test_restore_of_an_earlier_moment_P11(tmp_path: Path) -> None:
    with SessionJournal.open(tmp_path / "journal.sqlite", create=True) as journal:
        for hour in range(3):
            head = journal.record(decision(hour=hour), session="one")
        restored = restore(journal, read_address(tmp_path / "earlier.sqlite"), until=2)

        assert restored.head.seq == 2
        assert restored.head.sha256 == journal.newest("one")[1].sha256
        with pytest.raises(ConfigError, match="--until must be the number of an entry, was 9"):
            restore(journal, read_address(tmp_path / "later.sqlite"), until=9)
        assert not (tmp_path / "later.sqlite").exists()
        assert head.seq == 3


def test_copy_over_another_journal_is_refused(
    new_journal_address: Callable[[], str], tmp_path: Path
) -> None:
    address = new_journal_address()
    with SessionJournal.open(address, create=True) as journal:
        journal.record(decision(), session="one")
        backup = tmp_path / "backup.sqlite"
        back_up(journal, backup)
        with pytest.raises(ConfigError, match="must be a new file"):
            back_up(journal, backup)
        with pytest.raises(UserError, match=r"must have one writer|be a new file"):
            restore(journal, read_address(address))
    with (
        JournalReader.at(backup) as copy,
        pytest.raises(ConfigError, match=r"was one with 1 entries|be a new file"),
    ):
        restore(copy, read_address(address))


def test_broken_journal_is_not_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, create=True) as journal:
        journal.record(decision(), session="one")
    with closing(sqlite3.connect(path)) as connection:
        (sql,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'entries_no_update'"
        ).fetchone()
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET content = replace(content, 'ride', 'rode')")
        connection.execute(sql)
        connection.commit()

    with (
        JournalReader.at(path) as broken,
        pytest.raises(JournalDamagedError, match="entries 1: its content is not what was hashed"),
    ):
        back_up(broken, tmp_path / "backup.sqlite")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "journal.sqlite",
        "journal.sqlite.lock",
    ]
