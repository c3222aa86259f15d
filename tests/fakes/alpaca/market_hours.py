"""When the fake venue trades: always (a switch), or by New York's calendar with its half days."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")
_DAY = timedelta(days=1)


class AlwaysOpen:
    """Open at every moment, until it is shut by hand."""

    def __init__(self) -> None:
        self.is_shut = False

    def is_open(self, at: datetime) -> bool:
        return not self.is_shut

    def close_after(self, at: datetime) -> datetime:
        """End of the session that an order of this moment works in."""
        return at.replace(hour=0, minute=0, second=0, microsecond=0) + 2 * _DAY

    def next_times(self, at: datetime) -> tuple[datetime, datetime]:
        return at + _DAY, self.close_after(at)

    def days(self, first: date, last: date) -> list[dict[str, str]]:
        count = (last - first).days + 1
        every = (first + k * _DAY for k in range(count))
        return [_day(each, "00:00", "23:59") for each in every]


class NewYorkHours:
    """Sessions of XNYS between two days."""

    def __init__(self, first: date, last: date) -> None:
        from tradingbot.data.calendar import TradingCalendar

        sessions = TradingCalendar.load("XNYS", first, last).sessions()
        self._opens: list[datetime] = sessions["opens_at"].to_list()
        self._closes: list[datetime] = sessions["closes_at"].to_list()

    def is_open(self, at: datetime) -> bool:
        k = bisect_right(self._opens, at) - 1
        return k >= 0 and at < self._closes[k]

    def close_after(self, at: datetime) -> datetime:
        return self._closes[bisect_right(self._closes, at)]

    def next_times(self, at: datetime) -> tuple[datetime, datetime]:
        return self._opens[bisect_right(self._opens, at)], self.close_after(at)

    def days(self, first: date, last: date) -> list[dict[str, str]]:
        pairs = (
            (opens.astimezone(NEW_YORK), closes.astimezone(NEW_YORK))
            for opens, closes in zip(self._opens, self._closes, strict=True)
        )
        return [
            _day(opens.date(), f"{opens:%H:%M}", f"{closes:%H:%M}")
            for opens, closes in pairs
            if first <= opens.date() <= last
        ]


Hours = AlwaysOpen | NewYorkHours


def _day(day: date, opens: str, closes: str) -> dict[str, Any]:
    return {"date": day.isoformat(), "open": opens, "close": closes}


class VenueClock:
    """The venue's time: the wall's, or one that is set; the skew is what the venue shows on top."""

    def __init__(self) -> None:
        self.set_to: datetime | None = None
        self.skew_s = 0.0

    def now(self) -> datetime:
        return self.set_to or datetime.now(UTC)

    def shown(self) -> datetime:
        return self.now() + timedelta(seconds=self.skew_s)
