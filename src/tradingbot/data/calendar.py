"""When exchanges trade: sessions, half days, closures, and every bar that should exist.

The facts come from `exchange_calendars`; only the bar grid laid over them is ours.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.data.schema import UTC_TIME
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.domain.timeframe import BarGrid, Timeframe

_DAY = timedelta(days=1)
_DAY_US = 86_400_000_000
_DAYS_PER_YEAR = 365.25
# A range without a session cannot be asked for; no exchange of the last century shut for longer.
_MARGIN = timedelta(days=30)
# Zones of the calendars loaded so far: loading one takes a tenth of a second.
_ZONES: dict[str, str] = {}


@dataclass(frozen=True, eq=False)
class TradingCalendar:
    """Sessions of one exchange between two days, both included.

    Example:
        >>> nyse = TradingCalendar.load("XNYS", date(2025, 1, 6), date(2025, 1, 10))
        >>> nyse.sessions()["session"].dt.day().to_list()  # the 9th was a day of mourning
        [6, 7, 8, 10]
    """

    name: str
    start: date
    end: date
    time_zone: str
    """IANA name of the exchange's zone."""
    _sessions: pl.DataFrame
    _stretches: pl.DataFrame
    """Uninterrupted trading: one row per session, two where it has a lunch break."""

    @classmethod
    def load(cls, name: str, start: date, end: date) -> TradingCalendar:
        """Load the sessions from `start` to `end`, both included; cached.

        Args:
            name: Exchange code (XNYS, XLON …) or `24/7`.
            start: First day.
            end: Last day; a range of one day, or without any session, is allowed.

        Raises:
            ConfigError: If the calendar is unknown, or not known for these days.
        """
        if end < start:
            rule = "the last day must not be before the first"
            raise ConfigError(rule, was=f"{start} … {end}", remedy="Swap the two days")
        return _load(name, start, end)

    def sessions(self) -> pl.DataFrame:
        """List sessions: `session` Date, `opens_at`, `closes_at` (UTC, µs), `is_half_day`."""
        return self._sessions

    def bar_closes(self, timeframe: Timeframe, grid: BarGrid) -> pl.DataFrame:
        """List every bar that should exist: `session` Date, `opened_at`, `closed_at` (UTC, µs)."""
        if timeframe.is_daily:
            return self._sessions.select(
                "session", opened_at=pl.col("opens_at"), closed_at=pl.col("closes_at")
            )
        opens, closes = _microseconds(self._stretches, "opens_at", "closes_at")
        duration = _duration_us(timeframe)
        first_cut = opens + duration - self._phase(opens, duration, grid)
        counts = 1 + np.maximum(0, -(-(closes - first_cut) // duration))
        row = np.repeat(np.arange(len(counts)), counts)
        k = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        closed = np.minimum(first_cut[row] + k * duration, closes[row])
        opened = np.where(k == 0, opens[row], first_cut[row] + (k - 1) * duration)
        return pl.DataFrame(
            {
                "session": self._stretches["session"][row],
                "opened_at": pl.Series(opened).cast(UTC_TIME),
                "closed_at": pl.Series(closed).cast(UTC_TIME),
            }
        )

    def bars_per_year(self, timeframe: Timeframe, grid: BarGrid) -> float:
        """Average bars per year over the whole calendar years that the range touches.

        Example:
            >>> day = date(2024, 6, 3)
            >>> always = TradingCalendar.load("24/7", day, day)
            >>> round(always.bars_per_year(Timeframe.parse("1h"), BarGrid.SESSION))
            8766
        """
        first, last = date(self.start.year, 1, 1), date(self.end.year, 12, 31)
        whole = TradingCalendar.load(self.name, first, last)
        days = (last - first + _DAY).days
        return whole.bar_closes(timeframe, grid).height * _DAYS_PER_YEAR / days

    def close_of(self, started_at: pl.Series, timeframe: Timeframe, grid: BarGrid) -> pl.Series:
        """Close of the bar that started then: the next grid boundary, at most the session's end.

        A daily bar may be stamped anywhere in its session, or at midnight of its day (UTC, or in
        the exchange's zone). A start outside every session keeps start + duration.

        Args:
            started_at: UTC times, any unit.
            timeframe: Length of the bars.
            grid: Where they begin.

        Returns:
            UTC times in µs, null where `started_at` is.
        """
        starts = started_at.cast(UTC_TIME)
        if timeframe.is_daily:
            return self._close_of_day(starts)
        start_us = starts.to_physical().fill_null(0).to_numpy()
        opens, closes = _microseconds(self._stretches, "opens_at", "closes_at")
        row, is_inside = _containing(start_us, opens, closes)
        duration = _duration_us(timeframe)
        closed = start_us + duration
        if len(opens):
            origin = opens[row] - self._phase(opens, duration, grid)[row]
            boundary = origin + ((start_us - origin) // duration + 1) * duration
            closed = np.where(is_inside, np.minimum(boundary, closes[row]), closed)
        return _times(closed, like=starts)

    def is_grid_start(
        self, started_at: pl.Series, timeframe: Timeframe, grid: BarGrid
    ) -> pl.Series:
        """Tell which starts inside a session are a bar's opening time; True outside sessions."""
        opens, closes = _microseconds(self._stretches, "opens_at", "closes_at")
        start_us = started_at.cast(UTC_TIME).to_physical().fill_null(0).to_numpy()
        _, is_inside = _containing(start_us, opens, closes)
        expected = self.bar_closes(timeframe, grid)["opened_at"].to_physical().to_numpy()
        return pl.Series(timeframe.is_daily | ~is_inside | np.isin(start_us, expected))

    def _close_of_day(self, starts: pl.Series) -> pl.Series:
        start_us = starts.to_physical().fill_null(0).to_numpy()
        opens, closes = _microseconds(self._sessions, "opens_at", "closes_at")
        if not len(opens):
            return _times(start_us + _DAY_US, like=starts)
        row, is_inside = _containing(start_us, opens, closes)
        local = starts.dt.convert_time_zone(self.time_zone).dt.date()
        is_utc_midnight = pl.Series(start_us % _DAY_US == 0)
        day = starts.dt.date().zip_with(is_utc_midnight, local).to_physical().fill_null(0)
        days = self._sessions["session"].to_physical().to_numpy()
        named = np.minimum(np.searchsorted(days, day.to_numpy()), len(days) - 1)
        is_named = days[named] == day.to_numpy()
        closed = np.where(is_named, closes[named], start_us + _DAY_US)
        return _times(np.where(is_inside, closes[row], closed), like=starts)

    def _phase(self, opens: NDArray[np.int64], duration: int, grid: BarGrid) -> NDArray[np.int64]:
        """How far into a bar of the grid each stretch opens, µs."""
        if grid is BarGrid.SESSION:
            return np.zeros_like(opens)
        local = pl.Series(opens).cast(UTC_TIME).dt.convert_time_zone(self.time_zone)
        wall = local.dt.replace_time_zone(None).to_physical().to_numpy()
        return np.asarray(wall % _DAY_US % duration, dtype=np.int64)


def closing_day(closed_at: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Day (UTC) a bar belongs to: that of its close, or the day before if it closed at midnight.

    Args:
        closed_at: (T,) closing times, UTC.

    Returns:
        (T,) datetime64[D].
    """
    return (closed_at.astype("datetime64[us]") - np.timedelta64(1, "us")).astype("datetime64[D]")


def time_zone_of(name: str) -> str:
    """IANA name of an exchange's zone.

    Example:
        >>> time_zone_of("XNYS")
        'America/New_York'
    """
    if name not in _ZONES:
        some_day = date(2024, 1, 2)  # any range will do
        TradingCalendar.load(name, some_day, some_day)
    return _ZONES[name]


@lru_cache(maxsize=64)
def _load(name: str, start: date, end: date) -> TradingCalendar:
    import exchange_calendars  # half a second: only where a calendar is needed

    known = exchange_calendars.get_calendar_names(include_aliases=True)
    if name not in known:
        rule = "calendar must be an exchange code or 24/7"
        remedy = suggest(name.upper(), known) if len(name) > 1 else "Use XNYS or 24/7"
        raise ConfigError(rule, was=repr(name), remedy=remedy)
    unknown = (ValueError, OverflowError, exchange_calendars.errors.CalendarError)
    try:
        # The facts of a range take a quarter of a second, however short it is: decades are shared.
        first, last = start.year // 10 * 10, end.year // 10 * 10 + 9
        known_sessions = _tabulate(name, date(first, 1, 1), date(last, 12, 31))
    except unknown:  # a calendar may begin or end inside a decade
        try:
            known_sessions = _tabulate(name, start, end)
        except unknown as e:
            rule = f"calendar {name} must be known for these days"
            raise ConfigError(rule, was=f"{start} … {end}", remedy="Choose a shorter range") from e
    sessions = known_sessions.filter(pl.col("session").is_between(start, end))
    return TradingCalendar(
        name,
        start,
        end,
        _ZONES[name],
        sessions.select("session", pl.col("opens_at", "closes_at").cast(UTC_TIME), "is_half_day"),
        _split_at_breaks(sessions),
    )


@lru_cache(maxsize=16)
def _tabulate(name: str, start: date, end: date) -> pl.DataFrame:
    """Sessions from a month before `start` to a month after `end`, times in µs; notes the zone."""
    import exchange_calendars

    with warnings.catch_warnings():
        # exchange_calendars 4.13 reads `Series.values`, which pandas 3.1 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        facts: Any = exchange_calendars.get_calendar(name, start=start - _MARGIN, end=end + _MARGIN)
        _ZONES[name] = str(facts.tz)
        return pl.DataFrame(
            {
                "session": facts.sessions.to_numpy().astype("datetime64[D]"),
                "opens_at": facts.opens_nanos // 1000,
                "closes_at": facts.closes_nanos // 1000,
                "is_half_day": facts.sessions.isin(facts.early_closes),
                "break_start": facts.break_starts_nanos // 1000,
                "break_end": facts.break_ends_nanos // 1000,
            }
        )


def _split_at_breaks(sessions: pl.DataFrame) -> pl.DataFrame:
    has_break = pl.col("break_start") > pl.col("opens_at")  # the smallest integer where none
    morning = sessions.select(
        "session",
        "opens_at",
        closes_at=pl.when(has_break).then("break_start").otherwise("closes_at"),
    )
    afternoon = sessions.filter(has_break).select(
        "session", "closes_at", opens_at=pl.col("break_end")
    )
    both = pl.concat([morning, afternoon.select(morning.columns)]).sort("opens_at")
    return both.with_columns(pl.col("opens_at", "closes_at").cast(UTC_TIME))


def _microseconds(frame: pl.DataFrame, *columns: str) -> list[NDArray[np.int64]]:
    return [frame[column].to_physical().to_numpy() for column in columns]


def _duration_us(timeframe: Timeframe) -> int:
    return timeframe.duration // timedelta(microseconds=1)


def _containing(
    times: NDArray[np.int64], opens: NDArray[np.int64], closes: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Row of the last stretch opened by each time, and whether it is still open then."""
    if not len(opens):
        return np.zeros(len(times), dtype=np.intp), np.zeros(len(times), dtype=bool)
    row = np.searchsorted(opens, times, side="right") - 1
    return np.maximum(row, 0), (row >= 0) & (times < closes[row])


def _times(values: NDArray[np.int64], *, like: pl.Series) -> pl.Series:
    times = pl.Series(like.name, values).cast(UTC_TIME)
    return times.set(like.is_null(), None) if like.null_count() else times
