from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.schema import BAR_COLUMNS, UTC_TIME
from tradingbot.data.sources.download import VENDOR_COLUMNS
from tradingbot.data.sources.session_bars import SessionBars, to_session_bars
from tradingbot.domain.errors import SourceError
from tradingbot.domain.timeframe import BarGrid, Timeframe

HOUR, HALF_HOUR = Timeframe(1, "h"), Timeframe(30, "m")
MONDAY = date(2024, 12, 2)  # 14:30 … 21:00 UTC


def rows_at(*times: str, volume: float = 100.0, fetched_at: str = "2025-01-01") -> pl.DataFrame:
    starts = [datetime.fromisoformat(f"2024-12-02T{text}").replace(tzinfo=UTC) for text in times]
    price = [10.0 + k for k in range(len(times))]
    frame = pl.DataFrame(
        {
            "started_at": starts,
            "open": price,
            "high": [p + 2 for p in price],
            "low": [p - 1 for p in price],
            "close": [p + 1 for p in price],
            "volume": [volume] * len(price),
            "vwap": price,
        },
        schema=VENDOR_COLUMNS,
    )
    at = datetime.fromisoformat(fetched_at).replace(tzinfo=UTC)
    return frame.select(
        pl.lit("AAPL").alias("symbol"), pl.all(), pl.lit(at).cast(UTC_TIME).alias("fetched_at")
    )


def convert(rows: pl.DataFrame, vendor_timeframe: Timeframe = HOUR) -> SessionBars:
    calendar = TradingCalendar.load("XNYS", MONDAY, MONDAY)
    return to_session_bars(rows, calendar, HOUR, BarGrid.SESSION, vendor_timeframe=vendor_timeframe)


def test_each_reason_for_leaving_a_row_out_is_counted_on_its_own() -> None:
    rows = rows_at(
        "13:30", "14:30", "15:00", "15:30", "20:30", "21:00", fetched_at="2024-12-02T21:15"
    )
    empty = rows_at("16:30").with_columns(
        pl.lit(math.nan).alias(c) for c in ("open", "high", "low", "close")
    )
    session = convert(pl.concat([rows, empty]))
    assert session.left_out == {
        "empty_rows": 1,
        "outside_session_rows": 2,
        "off_grid_rows": 1,
        "unfinished_rows": 1,
    }
    assert session.bars["closed_at"].dt.strftime("%H:%M").to_list() == ["15:30", "16:30"]
    assert dict(session.bars.schema) == BAR_COLUMNS


def test_bar_is_complete_once_the_vendor_has_settled() -> None:
    assert convert(rows_at("14:30", fetched_at="2024-12-02T15:45")).bars.height == 0
    assert convert(rows_at("14:30", fetched_at="2024-12-02T15:46")).bars.height == 1


def test_merged_bar_takes_first_last_extremes_and_sums() -> None:
    (bar,) = convert(rows_at("14:30", "15:00"), HALF_HOUR).bars.to_dicts()
    assert (bar["open"], bar["high"], bar["low"], bar["close"]) == (10.0, 13.0, 9.0, 12.0)
    assert (bar["volume"], bar["vwap"]) == (200.0, 10.5)
    assert bar["known_at"] == bar["closed_at"]


def test_merge_does_not_depend_on_the_vendors_order() -> None:
    rows = rows_at("14:30", "15:00", "15:30", "16:00")
    assert convert(rows.reverse(), HALF_HOUR).bars.equals(convert(rows, HALF_HOUR).bars)


def test_merge_keeps_a_missing_number_missing() -> None:
    rows = rows_at("14:30", "15:00")
    high = pl.when(pl.col("started_at").dt.minute() == 30).then(math.nan).otherwise("high")
    assert math.isnan(convert(rows.with_columns(high.alias("high")), HALF_HOUR).bars["high"][0])


def test_bar_without_volume_has_its_typical_price_as_vwap() -> None:
    (bar,) = convert(rows_at("14:30", "15:00", volume=0.0), HALF_HOUR).bars.to_dicts()
    assert bar["vwap"] == pytest.approx((13 + 9 + 12) / 3)


def test_repeated_rows_are_handed_on_where_nothing_is_merged() -> None:
    assert convert(rows_at("14:30", "14:30")).bars.height == 2
    with pytest.raises(SourceError, match="must not repeat a bar"):
        convert(rows_at("14:30", "14:30"), HALF_HOUR)


def test_daily_bar_of_a_closed_day_is_outside() -> None:
    thanksgiving = date(2024, 11, 28)
    calendar = TradingCalendar.load("XNYS", thanksgiving, MONDAY)
    daily = Timeframe(1, "d")
    starts = pl.col("started_at") - pl.Series([timedelta(days=4), timedelta(0)])
    rows = rows_at("05:00", "05:00").with_columns(starts)
    session = to_session_bars(rows, calendar, daily, BarGrid.SESSION, vendor_timeframe=daily)
    assert session.left_out["outside_session_rows"] == 1
    assert session.bars["closed_at"].to_list() == [datetime(2024, 12, 2, 21, tzinfo=UTC)]
