"""What is known of the market when orders are judged: prices, ages, volume, correlation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.inputs import FloatArray

VOLUME_DAYS = 20
"""Days whose volume is averaged."""
CORRELATION_BARS = 120
"""Bars whose returns are compared."""
CORRELATED = 0.7
"""Correlation of returns from which on symbols move together."""
_FEWEST_BARS = 20


class MarketFacts:
    """Facts of N symbols that follow from their bars alone."""

    def __init__(self, symbols: Sequence[str]) -> None:
        n_symbols = len(symbols)
        self.lanes = {symbol: lane for lane, symbol in enumerate(symbols)}
        """Place of each symbol."""
        self.last = np.full(n_symbols, np.nan)
        """(N,) last closes; NaN before the first bar."""
        self.previous = np.full(n_symbols, np.nan)
        """(N,) the closes before those."""
        self.last_at: list[datetime | None] = [None] * n_symbols
        self._volumes: deque[NDArray[Any]] = deque(maxlen=VOLUME_DAYS)
        self._today, self._day = np.zeros(n_symbols), date.min
        self._returns: deque[NDArray[Any]] = deque(maxlen=CORRELATION_BARS)
        self._together: NDArray[np.bool_] | None = None

    def take(
        self, at: datetime, day: date, close: FloatArray, volume: FloatArray, there: FloatArray
    ) -> None:
        """Take the bar that closed at a moment of a trading day; `there` (N,) is 1 or 0."""
        has_bar = there > 0.0
        if day != self._day:
            if self._today.any():
                self._volumes.append(self._today)
            self._today, self._day = np.zeros(len(close)), day
        self._today = self._today + np.where(has_bar, volume, 0.0)
        change = np.where(has_bar & np.isfinite(self.last), close / self.last - 1.0, 0.0)
        self._returns.append(change)
        self._together = None
        self.previous = np.where(has_bar, self.last, self.previous)
        self.last = np.where(has_bar, close, self.last)
        for lane in np.flatnonzero(has_bar):
            self.last_at[lane] = at

    @property
    def day_volume(self) -> FloatArray:
        """(N,) mean volume of the last whole days; of today where there was none yet."""
        return np.mean(self._volumes, axis=0) if self._volumes else self._today

    def correlated_with(self, lane: int) -> NDArray[np.bool_]:
        """Return which symbols (N,) move together with one; it always does with itself."""
        if self._together is None:
            self._together = self._compare()
        return np.asarray(self._together[lane])

    def _compare(self) -> NDArray[np.bool_]:
        n_symbols = len(self.last)
        alone: NDArray[np.bool_] = np.eye(n_symbols, dtype=bool)
        if len(self._returns) < _FEWEST_BARS:
            return alone
        with np.errstate(all="ignore"):
            found = np.corrcoef(np.array(self._returns), rowvar=False).reshape(n_symbols, -1)
        return np.asarray(alone | (found >= CORRELATED))
