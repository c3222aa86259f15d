"""Joins what became known at some time to the bars that closed later: never the other way."""

from __future__ import annotations

import numpy as np

from tradingbot.features.inputs import CovariateEvents, FloatArray, TimeArray


def join_as_of(events: CovariateEvents, closed_at: TimeArray, n_symbols: int) -> FloatArray:
    """Give each bar the last value that was available when it closed.

    Of values available at the same moment the last in order of `events` counts.

    Args:
        events: Values sorted by `available_at`.
        closed_at: (T,) closing times, increasing.
        n_symbols: N.

    Returns:
        (T, N) value with the latest `available_at` ≤ closing time; NaN where there is none.
    """
    length = len(closed_at)
    row = np.searchsorted(closed_at, events.available_at, side="left")
    used = row < length
    # Index of the event that takes effect at a cell; later events have the higher index.
    effective = np.full((length, n_symbols), -1, dtype=np.int64)
    np.maximum.at(effective, (row[used], events.symbol_index[used]), np.flatnonzero(used))
    np.maximum.accumulate(effective, axis=0, out=effective)
    values = np.append(events.values, np.nan)  # index −1 reads the NaN at the end
    return np.asarray(values[effective])
