"""Bars that arrive one after another: the bits that `tensor_market` gives for all of them at once.

A session learns of a bar when it closes. Price, volatility and age of every symbol are then those
that a backtest of the same bars reads, to the last bit.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.market.bars import (
    UNSEEN_PRICE,
    UNSEEN_STALE_BARS,
    VOLATILITY_BARS,
    Bar,
    FloatArray,
    find_impossible,
)

_KEPT_BARS = VOLATILITY_BARS + 2


class ArrivingBars:
    """N symbols on a common clock, of which one bar after another is taken; float64."""

    def __init__(self, n_symbols: int) -> None:
        self._close = np.full((n_symbols, _KEPT_BARS), UNSEEN_PRICE)
        self._seen = np.zeros((n_symbols, _KEPT_BARS), dtype=bool)
        self._stale = np.full(n_symbols, UNSEEN_STALE_BARS)
        self._n_bars = 0

    @property
    def close(self) -> FloatArray:
        """(N,) last closes; `UNSEEN_PRICE` before the first."""
        return self._close[:, -1]

    @property
    def stale_bars(self) -> Tensor:
        """(N,) int32 bars since each symbol last traded."""
        return torch.from_numpy(self._stale.astype(np.int32))

    def take(self, prices: FloatArray, present: NDArray[np.bool_]) -> Bar:
        """Take the next bar.

        Args:
            prices: (N, 5) open, high, low, close, volume; what is not present is not read.
            present: (N,) there is a bar; one that is impossible counts as absent.

        Returns:
            (N,) the bar as `TensorMarket.bar` gives it.
        """
        there = present & ~find_impossible(prices, present)
        volatility = self._volatility()
        close = np.where(there, prices[:, 3], self.close)
        rows = np.zeros((7, len(close)))
        for column in range(4):
            rows[column] = np.where(there, prices[:, column], close)
        rows[4] = np.where(there, prices[:, 4], 0.0)
        rows[5], rows[6] = volatility, there
        self._stale = np.where(
            there, 0, np.where(self._seen[:, -1], self._stale + 1, UNSEEN_STALE_BARS)
        )
        seen = self._seen[:, -1] | there
        self._close = np.concatenate([self._close[:, 1:], close[:, None]], axis=1)
        self._seen = np.concatenate([self._seen[:, 1:], seen[:, None]], axis=1)
        self._n_bars += 1
        return Bar(*torch.from_numpy(rows))

    def _volatility(self) -> FloatArray:
        """Return the volatility (N,) of the bars taken so far."""
        if self._n_bars < VOLATILITY_BARS:
            return np.zeros(len(self._close))
        log_returns = np.zeros_like(self._close)
        changes = np.diff(np.log(self._close), axis=1)
        log_returns[:, 1:] = np.where(self._seen[:, :-1], changes, 0.0)
        # The same windows as of a whole history, so that sums are added up in the same order.
        windows = np.lib.stride_tricks.sliding_window_view(log_returns, VOLATILITY_BARS, axis=1)
        newest = windows.std(axis=-1)[:, -1]
        return np.where(self._seen[:, -VOLATILITY_BARS], newest, 0.0)
