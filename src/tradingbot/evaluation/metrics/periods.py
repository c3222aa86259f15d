"""Returns by calendar: compounded over days and months, and by hour and weekday of the market."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def compound_by(returns: ArrayLike, keys: NDArray[np.generic]) -> tuple[FloatArray, IntArray]:
    """Return the compounded return (G,) of each stretch of equal keys, and its first bar (G,).

    Args:
        returns: (T,) simple, per bar; −1 is ruin, after which nothing changes within a stretch.
        keys: (T,) rising: days, months.
    """
    series = inputs.finite_series(returns, "returns")
    inputs.same_length(series, np.asarray(keys), "returns and keys")
    if not len(series):
        return np.zeros(0), np.zeros(0, np.int64)
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    growth = np.maximum(1.0 + series, 0.0)
    return np.multiply.reduceat(growth, first) - 1.0, first


def days_and_months(
    closed_at: NDArray[np.int64],
) -> tuple[NDArray[np.datetime64], NDArray[np.datetime64]]:
    """Return the UTC day and the month (T,) of bars by their closes, µs; midnight ends a day."""
    days = closing_day(closed_at.astype("datetime64[us]"))
    return days, days.astype("datetime64[M]")


class LocalClock(NamedTuple):
    """When bars closed, by the clock on the wall of an exchange."""

    weekday: IntArray
    """(T,) 0 Monday … 6 Sunday."""
    hour: IntArray
    """(T,) hour in which the bar ended, 0 … 23; a bar that closes at 11:00 ended in hour 10."""


def local_clock(closed_at: NDArray[np.int64], time_zone: str) -> LocalClock:
    """Return weekday and hour of closes (T,), µs since 1970 UTC, in a zone of the IANA."""
    stamps = pl.Series((closed_at - 1).astype("datetime64[us]"))
    local = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    weekday = local.dt.weekday().cast(pl.Int64).to_numpy() - 1
    return LocalClock(weekday, local.dt.hour().cast(pl.Int64).to_numpy())
