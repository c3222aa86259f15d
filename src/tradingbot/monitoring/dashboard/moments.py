"""Times as people read them: in the zone of the market, of the reader, or UTC; labelled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.report.numbers import NOTHING

ZoneChoice = Literal["market", "local", "UTC"]
ZONE_CHOICES: tuple[ZoneChoice, ...] = ("market", "local", "UTC")


@dataclass(frozen=True)
class Zone:
    """The zone that times are shown in."""

    name: str
    """IANA name."""
    rules: tzinfo
    whose: str
    """`market`, `local` or nothing: said beside the name."""

    @property
    def label(self) -> str:
        """Return what is written beside axes and tables."""
        return f"{self.name}, {self.whose}" if self.whose else self.name

    def moment(self, at: datetime | None, *, seconds: bool = False) -> str:
        """Write a moment with its abbreviation: `2025-12-30 16:00 EST`.

        The abbreviation tells the two hours apart that a clock shows twice in autumn.
        """
        if at is None:
            return NOTHING
        form = "%Y-%m-%d %H:%M:%S %Z" if seconds else "%Y-%m-%d %H:%M %Z"
        return at.astimezone(self.rules).strftime(form)

    def moments(self, at: NDArray[np.datetime64]) -> list[str]:
        """Write moments (T,) in UTC as `moment` does."""
        return [self.moment(as_utc(each)) for each in at]


UTC_ZONE = Zone("UTC", UTC, "")


def choose_zone(choice: ZoneChoice, *, market: str | None, local: str | None) -> Zone:
    """Return the zone that a reader chose; UTC where what was chosen is not known.

    Args:
        choice: What was chosen.
        market: IANA name of the exchange's zone; None where no session says one.
        local: IANA name that the browser tells.
    """
    name = {"market": market, "local": local, "UTC": None}[choice]
    if name is None:
        return UTC_ZONE
    try:
        return Zone(name, ZoneInfo(name), choice)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC_ZONE


def read_moment(text: str) -> datetime | None:
    """Read a moment of a file, ISO; None where it is none. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def as_utc(at: np.datetime64) -> datetime:
    """Return a moment of an array as one with its zone."""
    found: datetime = at.astype("datetime64[us]").item()
    return found.replace(tzinfo=UTC)


def describe_age(seconds: float | None) -> str:
    """Write how long ago something was: `0.4 s`, `12 min`, `3 h`, `5 days`.

    Example:
        >>> describe_age(90)
        '1.5 min'
    """
    if seconds is None:
        return NOTHING
    seconds = max(seconds, 0.0)
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
