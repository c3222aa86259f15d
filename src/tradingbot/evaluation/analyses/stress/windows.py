"""Bad times that happened, and whether the data of a run cover them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange

COVERED_FRAC = 0.8
"""Share of the weekdays of a window on which most symbols must be usable; holidays have none."""


@dataclass(frozen=True)
class HistoricalWindow:
    """Days between which something happened, both included."""

    name: str
    first_day: date
    last_day: date
    words: str


HISTORY = (
    HistoricalWindow(
        "2018 Q4", date(2018, 10, 1), date(2018, 12, 31), "US shares fall by a fifth into Christmas"
    ),
    HistoricalWindow(
        "2020 crash", date(2020, 2, 19), date(2020, 4, 30), "the pandemic: a third lost in weeks"
    ),
    HistoricalWindow(
        "2022 bear market", date(2022, 1, 3), date(2022, 10, 14), "rates rise, shares fall all year"
    ),
    HistoricalWindow(
        "April 2025", date(2025, 4, 1), date(2025, 4, 30), "tariffs: a tenth lost in two days"
    ),
)


def covered_bars(
    window: HistoricalWindow, closed_at: NDArray[np.int64], usable: NDArray[np.bool_]
) -> IndexRange | None:
    """Return the bars of a window; None where the data do not cover it.

    Args:
        window: Days.
        closed_at: (T,) microseconds since 1970 UTC.
        usable: (N, T) features are defined.
    """
    days = closing_day(closed_at.astype("datetime64[us]"))
    first = int(np.searchsorted(days, np.datetime64(window.first_day, "D")))
    after = int(np.searchsorted(days, np.datetime64(window.last_day, "D"), side="right"))
    weekdays = int(np.busday_count(window.first_day, window.last_day)) + 1
    ready = usable[:, first:after].mean(axis=0) >= 0.5
    seen = len(np.unique(days[first:after][ready]))
    return IndexRange(first, after) if seen >= COVERED_FRAC * weekdays else None
