"""Days: as they are written, and those of one part of the data with their bars."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

from tradingbot.domain.errors import ConfigError


class DayRange(NamedTuple):
    """First and last day of some bars, and their number.

    Example:
        >>> str(DayRange("2025-01-02", "2025-07-31", 1008))
        '2025-01-02 … 2025-07-31, 1,008 bars'
    """

    first_day: str
    """ISO; a bar belongs to the day it closed on, at midnight to the day before."""
    last_day: str
    """Included."""
    bars: int

    def __str__(self) -> str:
        return f"{self.first_day} … {self.last_day}, {self.bars:,} bars"


def read_day(day: str | date, name: str) -> date:
    """Read a day.

    Args:
        day: As ISO 8601 writes it, or one already.
        name: Of the argument, for messages.

    Raises:
        ConfigError: If there is no such day.
    """
    if isinstance(day, datetime):
        return day.date()
    try:
        return date.fromisoformat(str(day))
    except ValueError as e:
        remedy = f"Write e.g. {name}='2025-01-31'"
        raise ConfigError(f"{name} must be a day", was=repr(day), remedy=remedy) from e
