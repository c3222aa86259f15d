"""Bars of many symbols as arrays, taken apart into moves overnight and within a bar, and rebuilt.

A bar stays a bar whatever its moves become: the high is not below open and close, the low not
above. Bars before the one that a change begins at are kept to the bit. Disasters,
placebos and planted signals change the moves in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError

FloatArray = NDArray[np.float64]


class BarArrays(NamedTuple):
    """Bars of N symbols on a grid of T closes; (T, N) each, NaN where there is no bar."""

    open: FloatArray
    high: FloatArray
    low: FloatArray
    close: FloatArray
    volume: FloatArray
    vwap: FloatArray


class Moves(NamedTuple):
    """Logarithms of price ratios of the bars from one on, (S, N) each; 0 where there is no bar."""

    gap: FloatArray
    """Open ÷ last close before; 0 at a symbol's first bar."""
    high: FloatArray
    """High ÷ open, at least 0 and at least `close`; the others are ÷ open too."""
    low: FloatArray
    close: FloatArray
    vwap: FloatArray

    def total(self) -> FloatArray:
        """Return close ÷ last close before, (S, N)."""
        return self.gap + self.close


def moves_from(bars: BarArrays, first_bar: int) -> Moves:
    """Take the bars from `first_bar` on apart.

    Raises:
        DataError: If it is no bar of the grid.
    """
    before = _closes_before(bars, first_bar)
    opens = bars.open[first_bar:]

    def log_ratio(values: FloatArray, base: FloatArray) -> FloatArray:
        known = np.isfinite(values) & np.isfinite(base)
        ratio = np.divide(values, base, out=np.ones_like(values), where=known)
        logs: FloatArray = np.log(ratio)
        return logs

    within = (log_ratio(getattr(bars, name)[first_bar:], opens) for name in Moves._fields[1:])
    return Moves(log_ratio(opens, before), *within)


def rebuilt(bars: BarArrays, first_bar: int, moves: Moves) -> BarArrays:
    """Put bars together again from their moves; those before `first_bar` are kept to the bit."""
    present = np.isfinite(bars.close[first_bar:])
    path = np.exp(np.cumsum(np.where(present, moves.total(), 0.0), axis=0))
    start = _anchor(bars, first_bar)
    closes = start * path
    opens = closes / np.exp(moves.close)
    made = {"open": opens, "close": closes}
    for name in ("high", "low", "vwap"):
        made[name] = opens * np.exp(getattr(moves, name))
    made["high"] = np.maximum.reduce([made["high"], opens, closes])  # the last bit of a rounding
    made["low"] = np.minimum.reduce([made["low"], opens, closes])
    joined = {
        name: np.concatenate(
            [getattr(bars, name)[:first_bar], np.where(present, values, np.nan)], axis=0
        )
        for name, values in made.items()
    }
    return bars._replace(**joined)


def _closes_before(bars: BarArrays, first_bar: int) -> FloatArray:
    """Return the last close before each bar from `first_bar` on; NaN where there was none."""
    if not 0 <= first_bar < len(bars.close):
        raise DataError(
            "a bar to begin at must be on the grid", was=first_bar, where=f"{len(bars.close)} bars"
        )
    known = np.isfinite(bars.close)
    seen = np.maximum.accumulate(np.where(known, np.arange(len(known))[:, None], 0), axis=0)
    last = np.take_along_axis(bars.close, seen, axis=0)  # NaN before a symbol's first bar
    shifted: FloatArray = np.concatenate([np.full_like(last[:1], np.nan), last[:-1]])
    return shifted[first_bar:]


def _anchor(bars: BarArrays, first_bar: int) -> FloatArray:
    """Return what the path of each symbol (N,) begins at: its last close, or its first open."""
    before = _closes_before(bars, first_bar)[0]
    opens = bars.open[first_bar:]
    first = np.isfinite(opens).argmax(axis=0)
    begun = opens[first, np.arange(opens.shape[1])]
    return np.asarray(np.where(np.isfinite(before), before, begun))
