"""Fewer points that look the same: of every column of pixels the first, last, lowest and highest.

A line through these covers exactly the pixels that the line through all points covers (M4), so that
no spike is lost whatever is thrown away.

Source: Jugel et al., 2014, "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 7(10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

COLUMNS = 1200
"""Columns of pixels of a wide chart; four points each at most."""


def pick_points(numbers: NDArray[np.float64], columns: int = COLUMNS) -> NDArray[np.int64]:
    """Return the places of the points that are drawn, rising.

    Args:
        numbers: (T,) evenly spaced; what is not finite is a gap, and each gap stays one.
        columns: Into which the points fall.

    Returns:
        (K,) with K ≤ 4 · columns; every place where T is not larger than that.
    """
    n_points = len(numbers)
    if n_points <= 4 * columns:
        return np.arange(n_points)
    width = -(-n_points // columns)
    n_columns = -(-n_points // width)
    padded = np.full(n_columns * width, np.nan)
    padded[:n_points] = np.where(np.isfinite(numbers), numbers, np.nan)
    cells = padded.reshape(n_columns, width)
    begin = np.arange(n_columns) * width
    known = ~np.isnan(cells)
    lowest = np.where(known, cells, np.inf).argmin(axis=1)
    highest = np.where(known, cells, -np.inf).argmax(axis=1)
    first, last = begin, np.minimum(begin + width, n_points) - 1
    found = np.concatenate([first, last, begin + lowest, begin + highest])
    return np.unique(np.minimum(found, n_points - 1))
