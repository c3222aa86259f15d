"""Copies of files on a node's own disk: one by content, checked, and not without end."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tradingbot.data import node_copies
from tradingbot.data.node_copies import COPIES_VARIABLE, local_copy
from tradingbot.domain.errors import StorageError


def stored(path: Path, content: bytes) -> tuple[Path, str]:
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


def test_file_is_read_where_it_is_unless_copies_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(COPIES_VARIABLE, raising=False)
    path, sha256 = stored(tmp_path / "panel", b"numbers")

    assert local_copy(path, sha256) == path


def test_copy_is_made_once_and_serves_when_the_file_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COPIES_VARIABLE, str(tmp_path / "copies"))
    path, sha256 = stored(tmp_path / "panel", b"numbers")

    first = local_copy(path, sha256)
    path.unlink()

    assert first == tmp_path / "copies" / sha256
    assert first.read_bytes() == b"numbers"
    assert local_copy(path, sha256) == first


def test_file_with_other_content_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COPIES_VARIABLE, str(tmp_path / "copies"))
    path, sha256 = stored(tmp_path / "panel", b"numbers")
    path.write_bytes(b"others")

    with pytest.raises(StorageError, match="a file must have the content that its record says"):
        local_copy(path, sha256)

    assert [each.name for each in (tmp_path / "copies").iterdir()] == ["lock"]


def test_copies_that_were_not_used_for_longest_give_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COPIES_VARIABLE, str(tmp_path / "copies"))
    monkeypatch.setattr(node_copies, "KEPT_COPIES", 2)
    files = [stored(tmp_path / f"{number}", b"%d" % number) for number in range(3)]
    copies = [local_copy(*file) for file in files]

    assert [each.exists() for each in copies] == [False, True, True]
