"""Days of one part of the data, and how many bars it has."""

from __future__ import annotations

from typing import NamedTuple


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
