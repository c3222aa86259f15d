"""The day's shape: which bar of the day a row is, and what is usual at that time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.features.inputs import FloatArray, TimeArray


@dataclass(frozen=True)
class DayGrid:
    """Rows of a grid by local day and time of day."""

    opens: NDArray[np.bool_]  # (T,) True in the first row of each local day
    slot: NDArray[np.int64]  # (T,) rank of the row's local closing time among all of them
    slots: int  # how many different closing times there are


def day_grid(closed_at: TimeArray, time_zone: str) -> DayGrid:
    """Sort closing times into local days and times of day; midnight ends the day before."""
    local = pl.Series(closed_at).dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    inside = local.dt.offset_by("-1us")
    day = inside.dt.date().to_physical().to_numpy()
    minute = inside.dt.hour().cast(pl.Int64).to_numpy() * 60 + inside.dt.minute().to_numpy()
    opens = np.diff(day, prepend=day[0] - 1) != 0
    times, slot = np.unique(minute, return_inverse=True)
    return DayGrid(opens, slot.astype(np.int64), len(times))


def deseasonalise(values: FloatArray, grid: DayGrid) -> FloatArray:
    """Divide (T, N) values by the column's mean |value| at the same time of day; NaN stays NaN."""
    scaled = np.empty_like(values)
    for slot in range(grid.slots):
        rows = grid.slot == slot
        usual = column_mean(np.abs(values[rows]))
        scaled[rows] = values[rows] / np.where(usual > 0, usual, np.nan)
    return scaled


def relative_profile(values: FloatArray, grid: DayGrid) -> tuple[FloatArray, FloatArray]:
    """Mean of the day's first and of its last bar, each ÷ the mean of the bars between.

    Returns:
        Two (N,) arrays of ones where a day has fewer than three bars.
    """
    ones = np.ones(values.shape[1])
    if grid.slots < 3:
        return ones, ones
    last = np.append(grid.opens[1:], True)
    middle = column_mean(values[~grid.opens & ~last])
    return column_mean(values[grid.opens]) / middle, column_mean(values[last]) / middle


def column_mean(values: FloatArray) -> FloatArray:
    """Mean over rows of what is finite; NaN for a column without any."""
    seen = np.isfinite(values)
    count = seen.sum(axis=0)
    total = np.where(seen, values, 0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
