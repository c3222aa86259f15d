"""How long a bar is and on which grid bars lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from tradingbot.domain.errors import ConfigError

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class BarGrid(StrEnum):
    """Where bars begin inside a trading session; the bar that does not fit is shorter."""

    SESSION = "session"
    """Counted from the session's open: 09:30, 10:30 … 15:30 (last bar 30 minutes)."""
    CLOCK = "clock"
    """On whole units of the clock: 09:30 (30 minutes), 10:00, 11:00 … 15:00."""


@dataclass(frozen=True)
class Timeframe:
    """Length of a bar.

    Example:
        >>> Timeframe.parse("1h").duration
        datetime.timedelta(seconds=3600)
    """

    count: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> Timeframe:
        """Read `15m`, `1h` or `1d`.

        Raises:
            ConfigError: If the text is not a positive count followed by m, h or d.
        """
        match = re.fullmatch(r"([1-9]\d{0,3})([mhd])", text)
        if match is None:
            raise ConfigError(
                "timeframe must be a count and m, h or d", was=repr(text), remedy="Use e.g. 1h"
            )
        frame = cls(int(match[1]), match[2])
        if frame.unit == "d" and frame.count != 1:
            raise ConfigError("daily bars must be 1d", was=repr(text), remedy="Use 1d")
        return frame

    @property
    def duration(self) -> timedelta:
        """Nominal length; a bar cut by the session's end is shorter."""
        return self.count * _UNITS[self.unit]

    @property
    def is_daily(self) -> bool:
        """True where one bar covers one trading session."""
        return self.unit == "d"

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"
