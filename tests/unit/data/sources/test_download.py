from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.download_rig import HandClock
from fixtures.killed_writes import kill_at_every_write
from tradingbot.data.sources.download import (
    VENDOR_COLUMNS,
    ChunkCache,
    DownloadChunk,
    DownloadRequest,
    plan,
    to_number,
)
from tradingbot.domain.errors import ConfigError, DataError

DAYS = st.dates(date(2015, 1, 1), date(2030, 12, 31))
ROWS = pl.DataFrame(
    [[datetime(2024, 12, 2, 14, 30, tzinfo=UTC)], *[[1.0]] * 6], schema=VENDOR_COLUMNS
)
PIECE = DownloadChunk("AAPL", date(2024, 12, 2), date(2024, 12, 6))


@given(start=DAYS, length=st.integers(0, 1200), days=st.integers(1, 400))
def test_pieces_cover_every_day_once_and_are_no_longer_than_allowed(
    start: date, length: int, days: int
) -> None:
    end = start + timedelta(days=length)
    chunks = plan(DownloadRequest(("AAPL",), start, end), days=days)
    covered = [
        chunk.first + timedelta(days=k)
        for chunk in chunks
        for k in range((chunk.last - chunk.first).days + 1)
    ]
    assert covered == [start + timedelta(days=k) for k in range(length + 1)]
    assert all((chunk.last - chunk.first).days < days for chunk in chunks)


@given(start=DAYS, length=st.integers(0, 1200), days=st.integers(1, 400), more=st.integers(1, 900))
def test_longer_range_keeps_all_pieces_but_the_last(
    start: date, length: int, days: int, more: int
) -> None:
    end = start + timedelta(days=length)
    short = plan(DownloadRequest(("A",), start, end), days=days)
    long = plan(DownloadRequest(("A",), start, end + timedelta(days=more)), days=days)
    assert long[: len(short) - 1] == short[:-1]


def test_pieces_are_ordered_by_symbol_whatever_the_request_says() -> None:
    request = DownloadRequest(("MSFT", "AAPL"), date(2024, 1, 1), date(2024, 1, 2))
    assert [chunk.symbol for chunk in plan(request, days=400)] == ["AAPL", "MSFT"]


@pytest.mark.parametrize("symbols", [(), ("AAPL", "MSFT", "AAPL")])
def test_request_without_or_with_repeated_symbols_is_refused(symbols: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        DownloadRequest(symbols, date(2024, 1, 1), date(2024, 1, 2))


def test_request_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ConfigError, match="end must not be before start"):
        DownloadRequest(("A",), date(2024, 1, 2), date(2024, 1, 1))


def test_symbol_that_climbs_out_of_the_folder_is_refused() -> None:
    with pytest.raises(DataError, match="symbol must be"):
        DownloadRequest(("../etc",), date(2024, 1, 1), date(2024, 1, 1))


def test_stored_piece_comes_back_with_the_time_it_was_fetched(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path, {"vendor": "v"}, HandClock().clock())
    fetched_at = datetime(2025, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
    stored = cache.store(PIECE, ROWS, fetched_at)
    loaded = cache.load(PIECE)
    assert loaded is not None
    assert loaded.equals(stored)
    assert loaded["fetched_at"][0] == fetched_at


def test_other_settings_do_not_share_pieces(tmp_path: Path) -> None:
    clock = HandClock().clock()
    ChunkCache(tmp_path, {"adjustment": "split"}, clock).store(PIECE, ROWS, clock.now())
    assert ChunkCache(tmp_path, {"adjustment": "none"}, clock).load(PIECE) is None


@pytest.mark.parametrize(
    ("fetched_after_end", "age", "is_used"),
    [
        (timedelta(days=1), timedelta(days=900), True),
        (timedelta(hours=23), timedelta(minutes=14), True),
        (timedelta(hours=23), timedelta(minutes=15), False),
        (timedelta(hours=-5), timedelta(minutes=1), True),
        (timedelta(hours=-5), timedelta(days=900), False),
        (timedelta(hours=-5), timedelta(minutes=-1), False),
    ],
)
def test_piece_is_used_again_if_final_or_fresh(
    tmp_path: Path, fetched_after_end: timedelta, age: timedelta, is_used: bool
) -> None:
    fetched_at = PIECE.until + fetched_after_end
    cache = ChunkCache(tmp_path, {}, HandClock(fetched_at + age).clock())
    cache.store(PIECE, ROWS, fetched_at)
    assert (cache.load(PIECE) is not None) is is_used


def test_piece_with_other_columns_is_not_used(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path, {}, HandClock().clock())
    cache.store(PIECE, ROWS.drop("vwap"), PIECE.until + timedelta(days=3))
    assert cache.load(PIECE) is None


def test_piece_with_any_byte_changed_is_fetched_again(tmp_path: Path) -> None:
    """A flip in a page leaves a readable file with other bars, or makes its reader panic."""
    cache = ChunkCache(tmp_path, {}, HandClock().clock())
    fetched_at = PIECE.until + timedelta(days=3)
    stored = cache.store(PIECE, ROWS, fetched_at)
    (path,), (seal,) = tmp_path.rglob("*.parquet"), tmp_path.rglob("*.sha256")
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        assert cache.load(PIECE) is None, place
    path.write_bytes(content)
    for noted in (b"", b"\xff", b"0" * 64):
        seal.write_bytes(noted)
        assert cache.load(PIECE) is None

    seal.unlink()  # a piece of an older version
    found = cache.load(PIECE)
    assert found is not None
    assert found.equals(stored)


def test_piece_killed_at_any_write_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    old, new = PIECE.until + timedelta(days=3), PIECE.until + timedelta(days=4)

    def store(folder: Path, moment: datetime = new) -> None:
        ChunkCache(folder, {}, HandClock().clock()).store(PIECE, ROWS, moment)

    store(tmp_path / "before", old)
    for folder, _ in kill_at_every_write(tmp_path / "before", tmp_path / "killed", store):
        found = ChunkCache(folder, {}, HandClock().clock()).load(PIECE)
        assert found is None or found["fetched_at"][0] in (old, new)
        store(folder)
        assert not list(folder.rglob(".tmp-*"))


@pytest.mark.parametrize("value", ["1.5", True, [1], {}])
def test_anything_but_a_number_is_no_number(value: object) -> None:
    with pytest.raises(TypeError):
        to_number(value)
