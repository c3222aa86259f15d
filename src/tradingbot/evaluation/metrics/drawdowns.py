"""Drawdowns one by one: from which peak, how deep, and when it was recovered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.evaluation.metrics.returns import drawdown_of


class Drawdown(NamedTuple):
    """One stretch below an earlier peak; places are those of the worths it was found in."""

    peak: int
    """Last place at the peak."""
    trough: int
    """Place of the lowest worth; the first of several."""
    recovered: int | None
    """First place at the peak again; None where it never was."""
    depth_frac: float
    """Largest share lost since the peak, above 0."""


def drawdowns_of(equity: ArrayLike) -> list[Drawdown]:
    """Return every drawdown of worths (S + 1,) in the order of time; none where nothing is lost.

    At closes. The start is a peak; the last drawdown may still last.

    Raises:
        DataError: If a worth is NaN or infinite, there is none, or it begins at 0 or below.
    """
    lost = drawdown_of(equity)
    below = np.concatenate([[False], lost > 0.0, [False]])
    edges = np.flatnonzero(below[1:] != below[:-1])
    found = []
    for first, end in edges.reshape(-1, 2):
        trough = int(first + np.argmax(lost[first:end]))
        recovered = int(end) if end < len(lost) else None
        found.append(Drawdown(int(first) - 1, trough, recovered, float(lost[trough])))
    return found


def deepest(found: list[Drawdown], most: int) -> list[Drawdown]:
    """Return so many of the deepest, the deepest first; of equal ones the earlier first."""
    return sorted(found, key=lambda each: (-each.depth_frac, each.peak))[:most]
