"""Pieces come back for the same key only; what cannot be read is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.app.evaluation.piece_store import (
    PieceStore,
    Stored,
    identity_of,
    key_of,
    measuring_sources_sha256,
)
from tradingbot.app.evaluation.seeds_piece import SeedsSettings
from tradingbot.evaluation.oracle.intervals import Interval

RECORD = Interval(1.0, float("nan"), float("inf"))


def test_piece_is_read_back_for_its_key_alone(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.keep("a", "key", Stored(RECORD))

    found = store.load("a", "key", Interval)

    assert found is not None
    assert repr(found.record) == repr(RECORD)
    assert store.load("a", "other", Interval) is None
    assert store.load("b", "key", Interval) is None


def test_piece_that_was_left_out_keeps_its_reason(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.keep("a", "key", Stored(None, "too short"))

    found = store.load("a", "key", Interval)

    assert found is not None
    assert (found.record, found.reason) == (None, "too short")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"key": "key", "reason": ""}', "null"])
def test_damaged_piece_is_none(tmp_path: Path, content: str) -> None:
    store = PieceStore(tmp_path)
    store.path("a").write_text(content)

    assert store.load("a", "key", Interval) is None


def test_record_of_another_shape_is_none(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.keep("a", "key", Stored(RECORD))

    assert store.load("a", "key", SeedsSettings) is None


def test_key_follows_from_everything_that_can_move_a_piece() -> None:
    keys = {
        key_of("run", SeedsSettings(), None, ()),
        key_of("other", SeedsSettings(), None, ()),
        key_of("run", SeedsSettings(count=6), None, ()),
        key_of("run", SeedsSettings(), [0.1, None], ()),
        key_of("run", SeedsSettings(), None, ("need",)),
    }

    assert len(keys) == 5
    assert key_of("run", SeedsSettings(), None, ()) in keys


def test_identity_changes_with_weights_data_and_configuration() -> None:
    assert len({identity_of(*texts) for texts in ("abc", "xbc", "axc", "abx")}) == 4


def test_sources_that_measure_count_and_those_that_show_do_not(tmp_path: Path) -> None:
    measuring, showing = tmp_path / "learning", tmp_path / "evaluation" / "report"
    for folder in (measuring, showing):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("1")
    before = measuring_sources_sha256(tmp_path)

    (showing / "a.py").write_text("2")
    assert measuring_sources_sha256(tmp_path) == before
    (measuring / "a.py").write_text("2")
    assert measuring_sources_sha256(tmp_path) != before
