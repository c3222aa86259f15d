"""Column names, numbers, zones and closing stamps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tradingbot.data.normalise import (
    StampRules,
    require_order,
    resolve_columns,
    to_bars,
    to_float,
)
from tradingbot.data.schema import BAR_COLUMNS, UTC_TIME
from tradingbot.data.stamps import to_utc
from tradingbot.domain.errors import ConfigError, DataError, SchemaError
from tradingbot.domain.timeframe import BarGrid, Timeframe

PRICES = ["open", "high", "low", "close", "volume"]
COLUMNS = {name: name for name in ("timestamp", "symbol", *PRICES)}
DAILY = Timeframe.parse("1d")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text + "+00:00")


def table(stamps: list[object], **columns: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"timestamp": stamps, "symbol": "A", "open": 10.0, "high": 12.0, "low": 9.0,
         "close": 11.0, "volume": 5.0, **columns}
    )  # fmt: skip


def closes(stamps: list[object], rules: StampRules) -> list[datetime]:
    return to_bars(table(stamps), COLUMNS, rules, where="t")["closed_at"].to_list()


def test_resolve_columns_ignores_case_and_knows_time_and_ticker():
    found = ["Date", "Ticker", "Open", "HIGH", "Low", "Close", "Volume", "Dividends"]
    chosen = resolve_columns(found, {}, where="t")
    assert chosen["timestamp"] == "Date"
    assert chosen["symbol"] == "Ticker"
    assert chosen["high"] == "HIGH"
    assert "vwap" not in chosen


def test_resolve_columns_mapping_wins_over_the_name():
    found = ["timestamp", *PRICES, "shares"]
    assert resolve_columns(found, {"volume": "shares"}, where="t")["volume"] == "shares"


def test_resolve_columns_missing_lists_what_was_found():
    with pytest.raises(SchemaError, match=r"'close'.*columns timestamp, open.*--map volume=vol"):
        resolve_columns(["timestamp", "open", "high", "low", "volume"], {}, where="t")


def test_resolve_columns_two_candidates_must_be_told_apart():
    with pytest.raises(SchemaError, match=r"one column, was date, time.*--map timestamp"):
        resolve_columns(["date", "time", *PRICES], {}, where="t")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_resolve_columns_single_header_cell_names_the_delimiter(delimiter):
    with pytest.raises(SchemaError, match="delimiter looks like"):
        resolve_columns([delimiter.join(["timestamp", *PRICES])], {}, where="t")


def test_resolve_columns_bad_mapping_is_refused():
    with pytest.raises(ConfigError, match="Did you mean 'close'"):
        resolve_columns(["a"], {"clsoe": "a"}, where="t")
    with pytest.raises(SchemaError, match="'b', mapped to close"):
        resolve_columns(["a"], {"close": "b"}, where="t")


@pytest.mark.parametrize(
    "text",
    ["2024-06-28T13:30:00Z", "2024-06-28 13:30:00+00:00", "2024-06-28T09:30:00-04:00",
     "2024-06-28 13:30:00 UTC", "2024-06-28T19:00+0530", "2024-06-28 13:30:00.000000Z",
     " 2024-06-28T13:30:00.000Z "],
)  # fmt: skip
def test_to_utc_zoned_text_is_read_exactly(text):
    assert to_utc(pl.Series([text]), time_zone=None, where="t").to_list() == [
        utc("2024-06-28T13:30")
    ]


def test_to_utc_zoned_text_may_change_its_offset():
    stamps = pl.Series(["2024-03-08T09:30:00-05:00", "2024-03-11T09:30:00-04:00"])
    assert to_utc(stamps, time_zone=None, where="t").dt.hour().to_list() == [14, 13]


@pytest.mark.parametrize(
    "stamps",
    [pl.Series(["2024-06-28 09:30"]), pl.Series([datetime(2024, 6, 28, 9, 30)]),  # noqa: DTZ001
     pl.Series(["2024-06-28T09:30:00"]), pl.Series(["2024-06-28"]), pl.Series([date(2024, 6, 28)])],
)  # fmt: skip
def test_to_utc_naive_stamps_need_a_zone(stamps):
    with pytest.raises(SchemaError, match=r"naive.*--time-zone"):
        to_utc(stamps, time_zone=None, where="t")
    hour = to_utc(stamps, time_zone="America/New_York", where="t").dt.hour()[0]
    assert hour in (13, 4)


def test_to_utc_zone_of_the_file_wins_over_the_given_one():
    stamps = pl.Series(["2024-06-28T13:30:00Z"])
    assert to_utc(stamps, time_zone="Asia/Tokyo", where="t")[0] == utc("2024-06-28T13:30")


@pytest.mark.parametrize(
    ("stamps", "message"),
    [
        (["2024-01-02T10:00Z", "2024-01-02T11:00"], "with a zone.*row 2"),
        (["2024-01-02T10:00Z", "soon"], "ISO 8601.*'soon' in row 2"),
        (["2024-02-30T10:00Z"], "ISO 8601.*row 1"),
        (["1704067200"], "ISO 8601"),
        (["2024-01-02T10:00Z", None], "empty in row 2"),
    ],
)
def test_to_utc_bad_text_names_row_and_value(stamps, message):
    with pytest.raises(DataError, match=message):
        to_utc(pl.Series("when", stamps), time_zone="UTC", where="t")


@pytest.mark.parametrize("text", ["2024-11-03 01:30", "2024-03-10 02:30"])
def test_to_utc_local_time_that_does_not_exist_once_is_refused(text):
    with pytest.raises(DataError, match="exists once in America/New_York"):
        to_utc(pl.Series([text]), time_zone="America/New_York", where="t")


def test_to_utc_unknown_zone_and_plain_numbers_are_refused():
    with pytest.raises(ConfigError, match="Did you mean 'America/New_York'"):
        to_utc(pl.Series(["2024-01-02"]), time_zone="America/NewYork", where="t")
    with pytest.raises(DataError, match="between 1900 and 2200"):
        to_utc(pl.Series([2**62]).cast(UTC_TIME), time_zone="UTC", where="t")
    with pytest.raises(SchemaError, match="ISO 8601"):
        to_utc(pl.Series([1704067200]), time_zone="UTC", where="t")


def test_to_float_single_precision_is_widened_exactly():
    narrow = np.array([177.380005, 0.1, 3.4e38], dtype=np.float32)
    wide = to_float(pl.Series(narrow), where="t")
    assert wide.dtype == pl.Float64
    assert wide.to_list() == [float(value) for value in narrow]


def test_to_float_text_empty_cells_become_nan_and_words_are_refused():
    numbers = to_float(pl.Series(["1.5", " 2 ", None, "", "1e3", "nan"]), where="t")
    np.testing.assert_array_equal(numbers.to_numpy(), [1.5, 2, np.nan, np.nan, 1000, np.nan])
    with pytest.raises(DataError, match="'close' must hold a number, was 'n/a' in row 2"):
        to_float(pl.Series("close", ["1", "n/a"]), where="t")
    with pytest.raises(SchemaError, match="must hold numbers"):
        to_float(pl.Series("close", [True]), where="t")


def test_to_bars_has_the_schema_and_typical_price():
    bars = to_bars(table(["2024-06-28T13:30Z"]), COLUMNS, StampRules(), where="t")
    assert dict(bars.schema) == BAR_COLUMNS
    assert bars["vwap"].to_list() == [(12 + 9 + 11) / 3]
    assert bars["known_at"].equals(bars["closed_at"])


def test_to_bars_keeps_the_vendors_vwap_and_known_at():
    given = table(["2024-06-28T13:30Z"], vwap=10.5, known_at="2024-06-28T14:31Z")
    columns = {**COLUMNS, "vwap": "vwap", "known_at": "known_at"}
    bars = to_bars(given, columns, StampRules(), where="t")
    assert bars["vwap"].to_list() == [10.5]
    assert bars["known_at"].to_list() == [utc("2024-06-28T14:31")]


def test_to_bars_open_stamps_move_to_the_close():
    starts = ["2024-06-28T13:30Z", "2024-06-28T19:30Z", "2024-07-03T16:30Z"]
    expected = [utc("2024-06-28T14:30"), utc("2024-06-28T20:00"), utc("2024-07-03T17:00")]
    assert closes(starts, StampRules()) == expected


def test_to_bars_close_stamps_stay():
    assert closes(["2024-06-28T14:30Z"], StampRules(stamps="close")) == [utc("2024-06-28T14:30")]


def test_to_bars_stamp_outside_sessions_keeps_start_plus_duration():
    starts = ["2024-06-28T13:30Z", "2024-06-29T13:30Z"]
    assert closes(starts, StampRules())[1] == utc("2024-06-29T14:30")


def test_to_bars_on_another_grid_is_refused_with_the_right_one():
    starts = [f"2024-06-28T{hour}:00Z" for hour in (14, 15, 16)]
    with pytest.raises(DataError, match=r"3 of 3 elsewhere.*--grid clock"):
        closes(starts, StampRules())
    assert closes(starts, StampRules(grid=BarGrid.CLOCK))[0] == utc("2024-06-28T15:00")


@pytest.mark.parametrize("stamps", ["open", "close"])
@pytest.mark.parametrize("day", ["2024-11-29", date(2024, 11, 29)])
def test_to_bars_daily_date_is_the_label_of_its_session(day, stamps):
    """A date taken for a time of close would show the bar a day early."""
    rules = StampRules(stamps=stamps, timeframe=DAILY)
    assert closes([day], rules) == [utc("2024-11-29T18:00")]


def test_to_bars_empty_symbol_is_refused():
    with pytest.raises(DataError, match="'symbol' must hold a symbol, was empty in row 1"):
        to_bars(table(["2024-06-28T13:30Z"], symbol=pl.Series([None], dtype=pl.String)), COLUMNS,
                StampRules(), where="t")  # fmt: skip


def test_require_order_allows_interleaved_symbols_but_no_step_back():
    times = [utc(f"2024-06-28T{hour}:30") for hour in (14, 14, 15, 15)]
    bars = pl.DataFrame({"symbol": ["A", "B", "A", "B"], "closed_at": times})
    require_order(bars, where="t")
    with pytest.raises(SchemaError, match=r"2 going back, first row 3 \(B 2024-06-28 14:30Z\)"):
        require_order(bars.reverse(), where="t")


def hourly(hours: list[int], *, day: int = 2) -> pl.DataFrame:
    stamps = [datetime(2024, 1, day, 14, 30, tzinfo=UTC) + timedelta(hours=h) for h in hours]
    rows = len(hours)
    prices = {name: [10.0] * rows for name in ("open", "high", "low", "close", "volume")}
    return pl.DataFrame({"timestamp": stamps, "symbol": ["AAPL"] * rows, **prices})


@pytest.mark.parametrize("declared", ["15m", "30m", "1d"])
def test_to_bars_of_another_length_than_declared_are_refused(declared: str) -> None:
    rules = StampRules(timeframe=Timeframe.parse(declared))

    with pytest.raises(DataError, match=rf"must be {declared} apart, was mostly 1:00:00"):
        to_bars(hourly(list(range(7))), COLUMNS, rules, where="f")


def test_to_bars_declared_closings_that_are_openings_are_refused() -> None:
    week = pl.concat([hourly(list(range(7)), day=day) for day in (2, 3, 4, 5)])

    with pytest.raises(DataError, match=r"when its session opens.*--stamps open"):
        to_bars(week, COLUMNS, StampRules(stamps="close"), where="f")


def test_to_bars_true_closings_pass() -> None:
    closes = hourly(list(range(7))).with_columns(pl.col("timestamp") + timedelta(hours=1))

    bars = to_bars(closes, COLUMNS, StampRules(stamps="close"), where="f")

    assert bars["closed_at"].to_list() == closes["timestamp"].to_list()


def test_to_bars_closings_around_the_clock_may_fall_on_midnight() -> None:
    closes = hourly(list(range(72)))
    rules = StampRules(stamps="close", calendar="24/7")

    assert to_bars(closes, COLUMNS, rules, where="f").height == 72
