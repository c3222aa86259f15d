"""A folder that grows: what appears in it, in any order, whole or not."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tradingbot.data.sources.growing_folder import GrowingFolder
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import DataError

CLOSE = datetime(2025, 10, 8, 14, 30, tzinfo=UTC)
SINCE = CLOSE - timedelta(hours=1)
HEAD = "symbol,timestamp,open,high,low,close,volume\n"


def row(symbol: str = "SPY", closed_at: datetime = CLOSE, close: float = 1.5) -> str:
    return f"{symbol},{closed_at.isoformat()},1,2,0.5,{close},10\n"


@pytest.fixture
def folder(tmp_path: Path) -> GrowingFolder:
    return GrowingFolder(tmp_path, clock=Clock(now=lambda: CLOSE + timedelta(seconds=5)))


def seen(folder: GrowingFolder) -> list[tuple[str, float]]:
    return folder.fetch(SINCE).select("symbol", "close").rows()


def test_one_bar_of_one_symbol_is_a_file(folder: GrowingFolder) -> None:
    (folder.path / "b.csv").write_text(HEAD + row("SPY"))
    assert seen(folder) == [("SPY", 1.5)]
    (folder.path / "a.csv").write_text(HEAD + row("QQQ"))  # the late one
    assert set(seen(folder)) == {("SPY", 1.5), ("QQQ", 1.5)}


def test_of_a_bar_that_comes_twice_the_first_counts(folder: GrowingFolder) -> None:
    (folder.path / "b.csv").write_text(HEAD + row(close=1.5) + row(close=1.6))
    assert seen(folder) == [("SPY", 1.5)]
    (folder.path / "a.csv").write_text(HEAD + row(close=1.7))
    assert seen(folder) == [("SPY", 1.5)]


def test_bars_that_have_not_closed_yet_are_refused(folder: GrowingFolder) -> None:
    ahead = CLOSE + timedelta(hours=1)
    (folder.path / "a.csv").write_text(HEAD + row() + row(closed_at=ahead))
    with pytest.raises(DataError, match="must have closed by now"):
        folder.fetch(SINCE)
    (folder.path / "b.csv").write_text(HEAD + row(closed_at=CLOSE + timedelta(seconds=60)))
    assert folder.fetch(SINCE).height == 1  # clocks may be apart by a little


def test_every_file_that_cannot_be_read_is_named_once(folder: GrowingFolder) -> None:
    (folder.path / "empty.csv").write_text("")
    (folder.path / "head.csv").write_text(HEAD)
    (folder.path / "cut.csv.gz").write_bytes(gzip.compress((HEAD + row() * 99).encode())[:-12])
    (folder.path / "row.csv").write_text(HEAD + row() + "QQQ,2025-10-08T14:30:00Z,1,2")
    (folder.path / "folder.csv").mkdir()
    (folder.path / "link.csv").symlink_to(folder.path / "nothing.csv")
    (folder.path / ".half.csv").write_text("not yet")
    (folder.path / "whole.csv").write_text(HEAD + row())
    with pytest.raises(DataError) as told:
        folder.fetch(SINCE)

    for name in ("empty.csv", "head.csv", "cut.csv.gz", "row.csv", "folder.csv", "link.csv"):
        assert name in str(told.value)
    assert seen(folder) == [("SPY", 1.5)]
