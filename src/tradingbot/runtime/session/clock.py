"""Hours of the exchange for a session: is it open, when did a bar open, which day is it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.calendar import TradingCalendar
from tradingbot.domain.errors import DataError
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.runtime.brokers.protocol import BrokerClock

_MARGIN = timedelta(days=10)


@dataclass(frozen=True)
class ExchangeHours:
    """Sessions of an exchange, half days included, and the bars laid over them."""

    calendar: str
    timeframe: str
    grid: BarGrid
    first: date
    last: date

    @cached_property
    def _calendar(self) -> TradingCalendar:
        return TradingCalendar.load(self.calendar, self.first - _MARGIN, self.last + _MARGIN)

    @cached_property
    def _sessions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = self._calendar.sessions()
        opens, closes = (rows[name].to_physical().to_numpy() for name in ("opens_at", "closes_at"))
        return opens, closes

    @cached_property
    def _openings(self) -> dict[int, int]:
        rows = self._calendar.bar_closes(Timeframe.parse(self.timeframe), self.grid)
        closed, opened = (rows[name].to_physical().to_list() for name in ("closed_at", "opened_at"))
        return dict(zip(closed, opened, strict=True))

    @cached_property
    def _closes(self) -> NDArray[np.int64]:
        return np.array(sorted(self._openings), dtype=np.int64)

    def opened_at(self, closed_at: datetime, before: datetime) -> datetime:
        """Return when a bar opened; at the close before where the calendar has no such bar."""
        found = self._openings.get(_microseconds(closed_at))
        return before if found is None else max(before, _moment(found))

    def next_close(self, after: datetime) -> datetime:
        """Return when the first bar after a moment closes.

        Raises:
            DataError: If the calendar does not reach so far.
        """
        closes = self._closes
        place = int(np.searchsorted(closes, _microseconds(after), side="right"))
        if place == len(closes):
            rule, remedy = "the calendar must reach the next bar", "Resume the session"
            raise DataError(rule, was=f"none after {after}", where=self.calendar, remedy=remedy)
        return _moment(int(closes[place]))

    def count_closes(self, after: datetime, until: datetime) -> int:
        """Count bars that close after a moment and not after another."""
        ends = [_microseconds(each) for each in (after, until)]
        first, stop = np.searchsorted(self._closes, ends, side="right")
        return int(stop - first)

    def day_of(self, moment: datetime) -> date:
        """Return the exchange's day."""
        return moment.astimezone(ZoneInfo(self._calendar.time_zone)).date()

    def begin_of(self, day: date) -> datetime:
        """Return when a day begins at the exchange, UTC."""
        zone = ZoneInfo(self._calendar.time_zone)
        return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)

    def clock(self, now: datetime) -> BrokerClock:
        """Return what a venue's clock says at a moment."""
        opens, closes = self._sessions
        at = _microseconds(now)
        row = int(np.searchsorted(closes, at, side="right"))  # the first that closes later
        row = min(row, len(opens) - 1)
        is_open = bool(opens[row] <= at < closes[row])
        next_row = min(row + 1, len(opens) - 1) if is_open else row
        return BrokerClock(now, is_open, _moment(opens[next_row]), _moment(closes[row]))


def _microseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6)


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(microseconds))
