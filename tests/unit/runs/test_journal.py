"""Journals: every row once, torn lines unread, damage found."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import pytest
import torch

from tradingbot.domain.errors import StorageError
from tradingbot.runs import Journal, read_journal
from tradingbot.runs.journal import JournalMark


def write(path: Path, updates: range, mark: JournalMark | None = None) -> JournalMark:
    with Journal(path, mark=mark) as journal:
        for update in updates:
            journal.append({"update": update, "loss": [update / 3, 0.1]})
        return journal.mark()


def test_rows_come_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "metrics.jsonl"
    row = {
        "update": 1,
        "third": 1 / 3,
        "per_agent": torch.tensor([1.5, float("nan")]),
        "nested": {"inf": math.inf, "pair": (1, None), "text": "α\n"},
    }

    with Journal(path) as journal:
        journal.append(row)

    assert list(read_journal(path)) == [
        {
            "update": 1,
            "third": 1 / 3,
            "per_agent": [1.5, None],
            "nested": {"inf": None, "pair": [1, None], "text": "α\n"},
        }
    ]
    assert path.read_bytes().count(b"\n") == 1


def test_resuming_at_a_mark_gives_the_bytes_of_one_go(tmp_path: Path) -> None:
    write(tmp_path / "whole", range(1, 8))
    mark = write(tmp_path / "cut", range(1, 4))
    write(tmp_path / "cut", range(4, 6), mark)  # these two are lost and learned again
    with (tmp_path / "cut").open("ab") as file:
        file.write(b'{"update": 6, "lo')

    write(tmp_path / "cut", range(4, 8), mark)

    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


def test_without_a_mark_it_begins_again(tmp_path: Path) -> None:
    write(tmp_path / "j", range(1, 9))

    mark = write(tmp_path / "j", range(1, 3))

    assert [row["update"] for row in read_journal(tmp_path / "j")] == [1, 2]
    assert mark.rows == 2
    assert mark.n_bytes == (tmp_path / "j").stat().st_size


@pytest.mark.parametrize("damage", ["short", "changed", "absent"])
def test_file_that_lost_what_the_mark_counted_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "j"
    mark = write(path, range(1, 5))
    data = path.read_bytes()
    if damage == "absent":
        path.unlink()
    else:
        path.write_bytes(data[:-3] if damage == "short" else data.replace(b"3", b"4"))

    with pytest.raises(StorageError, match="journal must hold the rows its checkpoint counted"):
        Journal(path, mark=mark)

    assert not path.exists() or path.stat().st_size in (len(data), len(data) - 3)


def test_torn_last_line_is_left_out_and_a_damaged_one_named(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text('{"update": 1}\n{"update": 2')

    assert list(read_journal(path)) == [{"update": 1}]
    path.write_text('{"update": 1}\n{"upda\n{"update": 3}\n')
    with pytest.raises(StorageError, match="line 2 is no JSON"):
        list(read_journal(path))
    path.write_text("[1]\n")
    with pytest.raises(StorageError, match="line 1 is no object"):
        list(read_journal(path))
    assert list(read_journal(tmp_path / "none")) == []


def test_row_the_disk_refuses_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "j", os.pwrite
    journal = Journal(path)
    journal.append({"update": 1})

    def half(descriptor: int, data: bytes, offset: int) -> int:
        real(descriptor, data[:5], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(StorageError, match="must have room"):
        journal.append({"update": 2})
    monkeypatch.undo()
    journal.append({"update": 2})
    mark = journal.mark()
    journal.close()

    assert list(read_journal(path)) == [{"update": 1}, {"update": 2}]
    Journal(path, mark=mark).close()


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: real(file, data[:3], place))

    write(tmp_path / "j", range(1, 4))

    assert [row["update"] for row in read_journal(tmp_path / "j")] == [1, 2, 3]


def test_mark_is_plain_and_checks_itself() -> None:
    mark = JournalMark(rows=2, n_bytes=30, sha256="a")

    assert json.loads(mark.model_dump_json()) == {"rows": 2, "n_bytes": 30, "sha256": "a"}
    with pytest.raises(ValueError, match="greater than or equal"):
        JournalMark(rows=-1)
