"""`tb.load_bars`: files, folders and frames become the same checked bars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import tradingbot as tb
from tradingbot.domain.errors import DataError, SchemaError, StorageError, UserError

PRICES = ["open", "high", "low", "close", "volume", "vwap"]


def test_csv_parquet_and_frames_give_the_bars_that_were_written(
    hourly: tb.Bars, csv: Path, tmp_path: Path
) -> None:
    table = pl.read_csv(csv)
    table.write_parquet(tmp_path / "bars.parquet")
    sources = [csv, str(csv), tmp_path / "bars.parquet", table, table.to_pandas()]

    for source in sources:
        found = tb.load_bars(source, stamps="close", synthetic=True, workspace=tmp_path / "w")
        assert found.frame.select("symbol", "closed_at", *PRICES).equals(
            hourly.frame.select("symbol", "closed_at", *PRICES)
        ), source
        assert found.timeframe == "1h"
        assert found.synthetic


def test_pandas_index_of_times_is_the_timestamp(daily: tb.Bars, tmp_path: Path) -> None:
    frame = daily.frame.to_pandas().set_index("closed_at")[
        ["open", "high", "low", "close", "volume"]
    ]
    frame.index.name = None

    found = tb.load_bars(frame, stamps="close", workspace=tmp_path)

    assert found.timeframe == "1d"
    assert found.frame["close"].equals(daily.frame["close"])


def test_folder_of_files_has_a_symbol_per_file(daily: tb.Bars, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    table = daily.frame.select(pl.col("closed_at").dt.date().alias("date"), *PRICES[:5])
    for symbol in ("AAA", "BBB"):
        table.write_csv(folder / f"{symbol}.csv")

    found = tb.load_bars(folder, workspace=tmp_path)

    assert found.symbols == ("AAA", "BBB")
    assert found.timeframe == "1d"
    assert not found.synthetic
    assert len(found) == 2 * len(daily)


@pytest.mark.parametrize(("timeframe", "per_year"), [("1h", 1754), ("1d", 251), ("30m", 3258)])
def test_bars_per_year_follow_from_the_calendar(timeframe: str, per_year: int) -> None:
    bars = tb.generate_bars("noise", symbols=["SPY"], timeframe=timeframe, start="2025-07-01")

    assert bars.bars_per_year == pytest.approx(per_year, rel=0.01)


def test_stored_name_is_opened_again(hourly: tb.Bars) -> None:
    found = tb.load_bars(hourly.name, workspace=hourly.workspace)

    assert found.dataset.id == hourly.dataset.id


def test_what_cannot_be_read_is_refused_in_words(tmp_path: Path, csv: Path) -> None:
    with pytest.raises(DataError, match="file to import must exist"):
        tb.load_bars(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="a file, a folder or a data frame, was int"):
        tb.load_bars(7)
    with pytest.raises(SchemaError, match="file must have column 'close'"):
        tb.load_bars(pl.read_csv(csv).drop("close"))
    naive = pl.read_csv(csv).with_columns(pl.col("timestamp").str.replace("Z", ""))
    with pytest.raises(SchemaError, match="stamps must carry a time zone"):
        tb.load_bars(naive, stamps="close")


def test_repr_says_what_it_is(hourly: tb.Bars, daily: tb.Bars) -> None:
    assert repr(daily) == "<Bars of SPY: 502 × 1d, 2023-10-02 … 2025-10-01, synthetic>"
    assert len(repr(hourly.world)) < 200
    assert "QQQ" not in repr(hourly.world)
    assert "2 symbols × 886 bars" in repr(hourly.world)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tb.generate_bars("noise", start="2025-13-01"), "start must be a day, was '2025-1"),
        (lambda: tb.generate_bars("noise", end="soon"), "end must be a day, was 'soon'. Write"),
        (lambda: tb.load_bars("/dev/zero"), "file to import must exist, was a device"),
        (lambda: tb.load_bars("gone.csv"), r"was nothing \(gone.csv\). Name a .parquet"),
    ],
)
def test_mistake_is_an_error_of_ours_with_a_remedy(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        call()


def test_disk_that_refuses_a_csv_is_named_by_its_path(tmp_path: Path) -> None:
    made = tb.generate_bars("noise", symbols=["AAA"], start="2025-09-01", end="2025-09-05")

    with pytest.raises(StorageError, match=r"path must .*\(/proc/nope/bars.csv\).*another path"):
        made.write_csv("/proc/nope/bars.csv")
