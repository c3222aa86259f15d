"""Sessions equal the exchange's own schedule; the bar grid cuts them correctly."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import exchange_calendars
import numpy as np
import polars as pl
import pytest

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.schema import UTC_TIME
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.timeframe import BarGrid, Timeframe

HOUR, DAY, MINUTE = (Timeframe.parse(text) for text in ("1h", "1d", "1m"))


def nyse(start: str, end: str | None = None) -> TradingCalendar:
    return TradingCalendar.load("XNYS", date.fromisoformat(start), date.fromisoformat(end or start))


def local_bars(calendar: TradingCalendar, timeframe: Timeframe, grid: BarGrid) -> list[str]:
    bars = calendar.bar_closes(timeframe, grid).with_columns(
        pl.col("opened_at", "closed_at").dt.convert_time_zone(calendar.time_zone)
    )
    return [f"{o:%H:%M}-{c:%H:%M}" for _, o, c in bars.iter_rows()]


def utc(*texts: str) -> pl.Series:
    return pl.Series(texts).str.to_datetime(time_zone="UTC", time_unit="us")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pandas, in the oracle itself
def test_sessions_over_1990_to_2026_equal_the_exchange_schedule():
    ours = nyse("1990-01-01", "2026-12-31").sessions()
    theirs = exchange_calendars.get_calendar("XNYS", start="1990-01-01", end="2026-12-31").schedule
    assert ours["session"].to_list() == [stamp.date() for stamp in theirs.index]
    for column, name in (("opens_at", "open"), ("closes_at", "close")):
        expected = theirs[name].dt.tz_localize(None).to_numpy().astype("datetime64[us]")
        np.testing.assert_array_equal(ours[column].dt.replace_time_zone(None).to_numpy(), expected)
    minutes = (ours["closes_at"] - ours["opens_at"]).dt.total_minutes()
    # Four days of 1990-1992 closed at 14:00, not 13:00.
    assert set(minutes.unique()) == {390, 210, 270}
    assert ours.filter(minutes == 270)["session"].dt.year().max() == 1992
    assert ours["is_half_day"].to_list() == (minutes < 390).to_list()


def test_minute_bars_over_the_years_count_390_or_210_a_day():
    counts = nyse("2018-01-01", "2025-12-31").bar_closes(MINUTE, BarGrid.SESSION)
    assert set(counts.group_by("session").len()["len"].unique()) == {390, 210}


@pytest.mark.parametrize("closed", ["2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"])
def test_sessions_on_an_ad_hoc_closure_are_none(closed):
    calendar = nyse(closed)
    assert calendar.sessions().is_empty()
    assert calendar.bar_closes(HOUR, BarGrid.SESSION).is_empty()


def test_bar_closes_on_the_session_grid_end_with_a_half_hour():
    assert local_bars(nyse("2024-06-28"), HOUR, BarGrid.SESSION) == [
        "09:30-10:30", "10:30-11:30", "11:30-12:30", "12:30-13:30", "13:30-14:30", "14:30-15:30",
        "15:30-16:00",
    ]  # fmt: skip


def test_bar_closes_on_the_clock_grid_begin_with_a_half_hour():
    assert local_bars(nyse("2024-06-28"), HOUR, BarGrid.CLOCK) == [
        "09:30-10:00", "10:00-11:00", "11:00-12:00", "12:00-13:00", "13:00-14:00", "14:00-15:00",
        "15:00-16:00",
    ]  # fmt: skip


def test_bar_closes_on_a_half_day_stop_at_13_00():
    half = nyse("2024-11-29")
    assert half.sessions()["is_half_day"].to_list() == [True]
    assert local_bars(half, HOUR, BarGrid.SESSION)[-1] == "12:30-13:00"
    assert local_bars(half, HOUR, BarGrid.CLOCK)[-1] == "12:00-13:00"
    assert local_bars(half, DAY, BarGrid.SESSION) == ["09:30-13:00"]


@pytest.mark.parametrize(
    ("before", "after", "hours"),
    [("2024-03-08", "2024-03-11", (14.5, 13.5)), ("2024-11-01", "2024-11-04", (13.5, 14.5))],
)
def test_bar_closes_across_a_clock_change_keep_local_time(before, after, hours):
    sessions = nyse(before, after).sessions()
    opens = [t.hour + t.minute / 60 for t in sessions["opens_at"].to_list()]
    assert opens == list(hours)
    for day in (before, after):
        assert local_bars(nyse(day), HOUR, BarGrid.CLOCK)[:2] == ["09:30-10:00", "10:00-11:00"]
        assert len(local_bars(nyse(day), MINUTE, BarGrid.SESSION)) == 390


def test_always_open_calendar_has_24_whole_hours_a_day_on_both_grids():
    always = TradingCalendar.load("24/7", date(2024, 3, 9), date(2024, 3, 11))
    session, clock = (always.bar_closes(HOUR, grid) for grid in BarGrid)
    assert session.equals(clock)
    assert session.height == 72
    assert session["closed_at"].diff().drop_nulls().unique().to_list() == [timedelta(hours=1)]
    assert session["closed_at"][-1] == datetime.fromisoformat("2024-03-12T00:00:00+00:00")


def test_bar_closes_with_a_lunch_break_do_not_span_it():
    tokyo = TradingCalendar.load("XTKS", date(2025, 1, 6), date(2025, 1, 6))
    assert "11:00-11:30" in local_bars(tokyo, HOUR, BarGrid.SESSION)
    assert "12:30-13:30" in local_bars(tokyo, HOUR, BarGrid.SESSION)


@pytest.mark.parametrize("grid", list(BarGrid))
@pytest.mark.parametrize("text", ["1h", "15m", "7m", "2h"])
@pytest.mark.parametrize("name", ["XNYS", "24/7", "XTKS"])
def test_close_of_every_expected_opening_is_its_close(name, text, grid):
    calendar = TradingCalendar.load(name, date(2024, 11, 25), date(2024, 12, 2))
    timeframe = Timeframe.parse(text)
    bars = calendar.bar_closes(timeframe, grid)
    assert calendar.close_of(bars["opened_at"], timeframe, grid).equals(bars["closed_at"])
    assert calendar.is_grid_start(bars["opened_at"], timeframe, grid).all()
    inside = bars["opened_at"] + timedelta(seconds=1)
    assert calendar.close_of(inside, timeframe, grid).equals(bars["closed_at"])
    joined = bars.filter(pl.col("opened_at").shift(-1) < pl.col("closed_at"))
    assert joined.is_empty(), "bars overlap"


def test_close_of_a_start_outside_sessions_keeps_start_plus_duration():
    starts = utc("2024-06-28 20:00", "2024-06-29 14:30", "2024-06-28 08:00", "1990-01-01 00:00")
    closes = nyse("2024-06-28").close_of(starts, HOUR, BarGrid.SESSION)
    assert closes.to_list() == [start + timedelta(hours=1) for start in starts]
    empty = nyse("2024-06-29").close_of(starts, HOUR, BarGrid.SESSION)
    assert empty.equals(closes)


def test_close_of_an_empty_stamp_is_empty():
    starts = pl.Series([None, datetime.fromisoformat("2024-06-28T13:30Z")], dtype=UTC_TIME)
    closes = nyse("2024-06-28").close_of(starts, HOUR, BarGrid.SESSION)
    assert closes.to_list() == [None, datetime.fromisoformat("2024-06-28T14:30Z")]


def test_close_of_a_daily_stamp_finds_its_session_however_it_is_written():
    calendar = nyse("2024-11-27", "2024-12-02")
    starts = utc("2024-11-29 00:00", "2024-11-29 05:00", "2024-11-29 14:30", "2024-11-29 16:00")
    closes = calendar.close_of(starts, DAY, BarGrid.SESSION)
    assert closes.unique().to_list() == [datetime.fromisoformat("2024-11-29T18:00Z")]
    holiday = utc("2024-11-28 00:00")
    assert calendar.close_of(holiday, DAY, BarGrid.SESSION)[0] == holiday[0] + timedelta(days=1)


def test_bars_per_year_is_that_of_whole_years():
    one_day, year = nyse("2024-06-28"), nyse("2024-01-01", "2024-12-31")
    per_year = one_day.bars_per_year(DAY, BarGrid.SESSION)
    assert per_year == pytest.approx(252 * 365.25 / 366)
    assert year.bars_per_year(DAY, BarGrid.SESSION) == per_year
    always = TradingCalendar.load("24/7", date(2024, 6, 3), date(2024, 6, 3))
    assert always.bars_per_year(HOUR, BarGrid.CLOCK) == pytest.approx(24 * 365.25)


def test_load_unknown_calendar_suggests_the_near_one():
    with pytest.raises(ConfigError, match=r"was 'XNYX'\. Did you mean 'XNYS'\?"):
        TradingCalendar.load("XNYX", date(2024, 1, 1), date(2024, 1, 2))


@pytest.mark.parametrize(
    ("start", "end"),
    [(date(2024, 1, 2), date(2024, 1, 1)), (date(1, 1, 1), date(1, 1, 2)),
     (date(9999, 1, 1), date(9999, 12, 31))],
)  # fmt: skip
def test_load_impossible_range_is_a_user_error(start, end):
    with pytest.raises(ConfigError):
        TradingCalendar.load("XNYS", start, end)


def test_load_same_range_twice_is_cached():
    assert nyse("2024-06-28") is nyse("2024-06-28")
