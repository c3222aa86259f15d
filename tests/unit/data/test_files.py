"""Files that are read, and files that are refused with one clear line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tradingbot.data.schema import BAR_COLUMNS
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.sources.source import RawBars
from tradingbot.domain.errors import ConfigError, DataError, SchemaError, UserError
from tradingbot.domain.timeframe import BarGrid

HEADER = "timestamp,symbol,open,high,low,close,volume"
ROWS = [
    "2024-06-28T13:30:00Z,AAPL,10,12,9,11,100",
    "2024-06-28T14:30:00Z,AAPL,11,12,10,11.5,200",
    "2024-06-28T19:30:00Z,AAPL,11,12,10,11.25,300",
]
TEXT = "\n".join([HEADER, *ROWS]) + "\n"


@pytest.fixture
def fetch(tmp_path):
    def fetch_content(content: str | bytes, name: str = "bars.csv", **options: object) -> RawBars:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return FileSource(FileImport(path=path, **options)).fetch()

    return fetch_content


def parquet_bytes(frame: pl.DataFrame, tmp_path: Path) -> bytes:
    frame.write_parquet(tmp_path / "frame.parquet")
    return (tmp_path / "frame.parquet").read_bytes()


@pytest.fixture
def frame() -> pl.DataFrame:
    rows = [row.split(",") for row in ROWS]
    text = pl.DataFrame(rows, schema=HEADER.split(","), orient="row")
    numbers = [pl.col(c).cast(pl.Float32) for c in ("open", "high", "low", "close", "volume")]
    return text.with_columns(pl.col("timestamp").str.to_datetime(time_zone="UTC"), *numbers)


def test_csv_bars_are_stamped_at_the_close_with_provenance(fetch):
    raw = fetch(TEXT)
    assert dict(raw.bars.schema) == BAR_COLUMNS
    hours = raw.bars["closed_at"].dt.strftime("%H:%M").to_list()
    assert hours == ["14:30", "15:30", "20:00"]
    detail = raw.provenance.detail
    assert raw.provenance.provider == "csv"
    assert (detail["file"], detail["rows"], detail["stamps"]) == ("bars.csv", 3, "open")
    assert len(str(detail["sha256"])) == 64


@pytest.mark.parametrize(
    "content",
    ["\ufeff" + TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n"),
     TEXT.replace("AAPL", '"AAPL"'), "\ufeff" + TEXT.replace("\n", "\r\n"),
     '"' + HEADER.replace(",", '","') + '"\n' + "\n".join(ROWS)],
    ids=["bom", "crlf", "no last newline", "quoted", "bom and crlf", "quoted header"],
)  # fmt: skip
def test_csv_dialects_give_the_same_bars(fetch, content):
    assert fetch(content).bars.equals(fetch(TEXT).bars)


def test_csv_gz_and_parquet_give_the_same_bars(fetch, frame, tmp_path):
    plain = fetch(TEXT).bars
    assert fetch(gzip.compress(TEXT.encode()), "bars.csv.gz").bars.equals(plain)
    from_parquet = fetch(parquet_bytes(frame, tmp_path), "bars.parquet")
    assert from_parquet.bars.equals(plain)
    assert from_parquet.provenance.provider == "parquet"


def test_parquet_single_precision_is_widened_exactly(fetch, frame, tmp_path):
    frame = frame.with_columns(pl.Series("close", np.array([0.1, 177.380005, 3.3], np.float32)))
    bars = fetch(parquet_bytes(frame, tmp_path), "bars.parquet").bars
    assert bars["close"].to_list() == frame["close"].cast(pl.Float64).to_list()
    assert bars["close"][0] != 0.1


def test_options_map_columns_rename_and_choose_symbols(fetch):
    text = TEXT.replace("close", "last").replace("AAPL", "apple inc")
    other = "2024-06-28T13:30:00Z,B,1,1,1,1,1\n"
    options = {"columns": {"close": "last"}, "renames": {"apple inc": "AAPL"}, "symbols": ("AAPL",)}
    raw = fetch(text + other, **options)
    assert raw.bars["symbol"].unique().to_list() == ["AAPL"]
    assert raw.provenance.detail["columns"] == "close=last"
    assert raw.provenance.detail["renames"] == "apple inc=AAPL"
    assert raw.provenance.detail["rows"] == 3


def test_extra_columns_are_ignored_and_listed(fetch):
    text = "\n".join([HEADER + ",trades,note"] + [row + ",7,x" for row in ROWS])
    raw = fetch(text)
    assert raw.provenance.detail["ignored_columns"] == "note, trades"
    assert raw.provenance.vwap == "typical_price"


def test_vendor_vwap_is_kept_and_recorded(fetch):
    raw = fetch("\n".join([HEADER + ",vwap"] + [row + ",10.5" for row in ROWS]))
    assert raw.provenance.vwap == "vendor"
    assert raw.bars["vwap"].unique().to_list() == [10.5]


def test_delimiter_and_time_zone_options(fetch):
    text = TEXT.replace(",", ";").replace("T13:30:00Z", " 09:30").replace("T14:30:00Z", " 10:30")
    text = text.replace("T19:30:00Z", " 15:30")
    raw = fetch(text, delimiter=";", time_zone="America/New_York")
    assert raw.bars.equals(fetch(TEXT).bars)
    assert raw.provenance.detail["time_zone"] == "America/New_York"


@pytest.mark.parametrize("name", ["tab", "TAB", "\\t", "\t"])
def test_delimiter_tab_may_be_written_out(fetch, name):
    assert fetch(TEXT.replace(",", "\t"), delimiter=name).bars.height == 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_csv_in_another_encoding_is_told_from_a_damaged_one(fetch, encoding):
    with pytest.raises(DataError, match="must be UTF-8 text"):
        fetch(TEXT.encode(encoding))


def test_csv_that_is_another_kind_of_file_is_told_so(fetch, frame, tmp_path):
    with pytest.raises(DataError, match=r"This is a Parquet file.*\.parquet"):
        fetch(parquet_bytes(frame, tmp_path))
    with pytest.raises(DataError, match=r"This is a gzip file.*\.csv\.gz"):
        fetch(gzip.compress(TEXT.encode()))


def test_folder_takes_symbols_from_file_names(tmp_path):
    folder = tmp_path / "bars"
    folder.mkdir()
    without = TEXT.replace("symbol,", "").replace("AAPL,", "")
    for name in ("MSFT.csv", "BTC%2FUSDT.csv", ".hidden.csv", "README.md"):
        (folder / name).write_text(without)
    labels = []
    raw = FileSource(FileImport(path=folder)).fetch(lambda *step: labels.append(step))
    assert raw.bars["symbol"].unique().sort().to_list() == ["BTC/USDT", "MSFT"]
    assert raw.provenance.detail["file_names"] == "BTC%2FUSDT.csv, MSFT.csv"
    assert raw.provenance.detail["files"] == 2
    assert labels[-1][:2] == (2, 2)


def test_unsorted_rows_are_refused_unless_sorting_is_asked_for(fetch):
    text = "\n".join([HEADER, *reversed(ROWS)])
    with pytest.raises(SchemaError, match=r"in order of time.*first row 2.*--sort"):
        fetch(text)
    assert fetch(text, sort=True).bars.equals(fetch(TEXT).bars)


def test_symbols_may_be_interleaved_in_time(fetch):
    text = HEADER + "\n" + "\n".join(f"{row}\n{row.replace('AAPL', 'A')}" for row in ROWS)
    assert fetch(text).bars["symbol"].to_list() == ["A"] * 3 + ["AAPL"] * 3


BAD_CONTENT = {
    "empty": ("", "must not be empty, was 0 bytes"),
    "header only": (HEADER + "\n", "at least 2 rows, was 0"),
    "header without newline": (HEADER, "at least 2 rows, was 0"),
    "one row": (HEADER + "\n" + ROWS[0], "at least 2 rows, was 1"),
    "missing column": (TEXT.replace("close", "last"), "'close', was columns timestamp.*--map"),
    "wrong delimiter": (TEXT.replace(",", ";"), "delimiter looks like ';'"),
    "string in number": (TEXT.replace("11.5", "n/a"), "'close' must hold a number, was 'n/a' in r"),
    "naive": (TEXT.replace("Z", ""), "time zone.*naive.*--time-zone"),
    "cut short": (TEXT[:-12], "7 cells.*Row #3: Expected 7 columns, got 5"),
    "too many cells": (TEXT + ROWS[0] + ",1\n", "Expected 7 columns, got 8"),
    "repeated column": (TEXT.replace("volume", "close"), "column names must differ"),
    "path in symbol": (TEXT.replace("AAPL", "../A"), "symbol must be.*'../A'"),
    "formula in symbol": (TEXT.replace("AAPL", "=cmd()"), "symbol must be"),
    "empty symbol": (TEXT.replace("AAPL", ""), "must hold a symbol, was empty in row 1"),
    "binary": (b"\xff\xfe" + TEXT.encode("utf-16-le"), "bars.csv"),
    "other grid": (TEXT.replace(":30:00Z", ":00:00Z"), "must start on the session grid"),
    "bad stamp": (TEXT.replace("2024-06-28T14:30:00Z", "28/06/2024"), "ISO 8601.*row 2"),
    "far future": (TEXT.replace("2024-", "9999-"), "between 1900 and 2200, was '9999-"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CONTENT)
def test_bad_csv_is_refused_in_one_line_with_its_name(fetch, case):
    content, message = BAD_CONTENT[case]
    with pytest.raises(UserError, match=message) as caught:
        fetch(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_truncated_or_fake_parquet_is_refused(fetch, frame, tmp_path):
    whole = parquet_bytes(frame, tmp_path)
    for content in (whole[:-20], whole[: len(whole) // 2], whole[:3], b"PAR1 is not enough"):
        with pytest.raises(DataError, match="readable to its end"):
            fetch(content, "bars.parquet")


def test_parquet_damaged_inside_is_refused_or_read_whole(fetch, frame, tmp_path):
    whole = parquet_bytes(frame, tmp_path)
    for position in range(4, len(whole), 16):
        damaged = bytearray(whole)
        damaged[position : position + 8] = b"\xff" * 8
        try:
            rows = fetch(bytes(damaged), "bars.parquet", time_zone="UTC").bars.height
        except UserError as e:
            assert "\n" not in str(e)  # noqa: PT017
        else:
            assert rows == 3


def test_parquet_with_text_that_is_not_utf8_is_refused(fetch, frame, tmp_path):
    table = frame.to_arrow()
    bad = pa.array([b"A\xff"] * 3, pa.binary()).view(pa.string())
    position = table.column_names.index("symbol")
    pq.write_table(table.set_column(position, "symbol", bad), tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=r"readable to its end.*UTF8"):
        fetch((tmp_path / "bad.parquet").read_bytes(), "bars.parquet")


def test_truncated_gz_and_gz_bomb_are_refused(fetch):
    packed = gzip.compress(TEXT.encode() * 100)
    with pytest.raises(DataError, match="readable to its end"):
        fetch(packed[:-15], "bars.csv.gz")
    with pytest.raises(DataError, match="readable to its end"):
        fetch(b"not gzip at all", "bars.csv.gz")
    bomb = gzip.compress(b"0" * 3_000_000)
    assert len(bomb) < 10_000
    with pytest.raises(DataError, match=r"more than 1,000,000 bytes.*Split the file"):
        fetch(bomb, "bars.csv.gz", max_bytes=1_000_000)


def test_size_cap_holds_for_parquet_and_plain_csv(fetch, frame, tmp_path):
    many = pl.concat([frame] * 5000)
    assert len(parquet_bytes(many, tmp_path)) < 100_000
    for content, name in ((parquet_bytes(many, tmp_path), "b.parquet"), (TEXT * 1000, "b.csv")):
        with pytest.raises(DataError, match="larger than the limit"):
            fetch(content, name, max_bytes=50_000)


def test_paths_that_cannot_be_imported_are_refused(fetch, tmp_path):
    with pytest.raises(DataError, match="must exist"):
        FileSource(FileImport(path=tmp_path / "none.csv")).fetch()
    with pytest.raises(DataError, match="one kind"):
        fetch(TEXT, "bars.xlsx")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="none of these"):
        FileSource(FileImport(path=tmp_path / "empty")).fetch()
    for name in ("a.csv", "b.parquet"):
        (tmp_path / "empty" / name).write_text(TEXT)
    with pytest.raises(DataError, match=r"was a.csv, b.parquet"):
        FileSource(FileImport(path=tmp_path / "empty")).fetch()


def test_bad_options_are_refused(fetch):
    with pytest.raises(DataError, match=r"'APPL'.*Did you mean 'AAPL'"):
        fetch(TEXT, symbols=("APPL",))
    with pytest.raises(ConfigError, match="delimiter must be one character"):
        fetch(TEXT, delimiter=",,")
    with pytest.raises(ConfigError, match="Did you mean 'XNYS'"):
        fetch(TEXT, calendar="XNYX")
    with pytest.raises(ConfigError, match="timeframe"):
        fetch(TEXT, timeframe="hour")


def test_same_file_twice_has_the_same_provenance(fetch):
    assert fetch(TEXT).provenance == fetch(TEXT).provenance
    assert fetch(TEXT).provenance != fetch(TEXT.replace("11.5", "11.6")).provenance


@pytest.mark.parametrize(
    ("name", "rows", "options"),
    [
        ("us_hourly_2023_2025", 539_854, {}),
        ("us_hourly_2018_2023", 1_949_364, {"grid": BarGrid.CLOCK}),
        ("crypto_hourly_2023_2025", 298_080, {"calendar": "24/7", "adjustment": "none"}),
        ("vix_daily", 9_049, {"timeframe": "1d"}),
    ],
)
def test_real_file_is_imported_whole_and_exactly(real_data, name, rows, options):
    path = real_data / f"{name}.parquet"
    bars = FileSource(FileImport(path=path, **options)).fetch().bars
    original = pl.read_parquet(path).sort("symbol", "timestamp")
    assert bars.height == rows
    for column in ("open", "high", "low", "close"):
        assert bars[column].equals(original[column].cast(pl.Float64))
    delay = (bars["closed_at"] - original["timestamp"]).dt.total_minutes()
    assert delay.min() >= 0
    assert set(delay.unique()) <= ({30, 60} if "1d" not in options.values() else set(delay))


def test_two_bars_of_one_time_are_refused_with_file_and_lines(fetch, tmp_path: Path) -> None:
    other = ROWS[0].replace(",100", ",999")
    with pytest.raises(DataError, match=r"must not differ \[CONFLICTING_DUPLICATE\]") as refused:
        fetch("\n".join([HEADER, *ROWS, other, ROWS[1]]) + "\n", sort=True)
    assert "bars.csv line 2 and bars.csv line 5 (AAPL that closes at" in str(refused.value)

    folder = tmp_path / "two"
    folder.mkdir()
    for name, row in (("a.csv", ROWS[0]), ("b.csv", other)):
        (folder / name).write_text("\n".join([HEADER, row, *ROWS[1:]]) + "\n")
    with pytest.raises(DataError, match=r"a.csv line 2 and b.csv line 2"):
        FileSource(FileImport(path=folder, sort=True)).fetch()


def test_repeated_rows_are_no_conflict(fetch) -> None:
    assert fetch("\n".join([HEADER, *ROWS, ROWS[0]]) + "\n", sort=True).bars.height == 4
