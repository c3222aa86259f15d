"""Closes as rules read them: carried over absent bars, never from later ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def carry_forward(closes: FloatArray) -> FloatArray:
    """Carry closes (N, T) forward over absent bars (NaN); NaN stays before the first."""
    position = np.where(np.isfinite(closes), np.arange(closes.shape[1]), -1)
    seen = np.maximum.accumulate(position, axis=1)
    values = np.take_along_axis(closes, np.maximum(seen, 0), axis=1)
    return np.where(seen >= 0, values, np.nan)


def moving_mean(closes: FloatArray, n_bars: int) -> FloatArray:
    """Return the mean of the last closes (N, T); NaN until there are `n_bars` of them."""
    windows = np.full_like(closes, np.nan)
    if closes.shape[1] >= n_bars:
        view = np.lib.stride_tricks.sliding_window_view(closes, n_bars, axis=1)
        windows[:, n_bars - 1 :] = view.mean(axis=-1)
    return windows


def exponential_mean(closes: FloatArray, span_bars: int) -> FloatArray:
    """Return the exponential mean of closes (N, T) from the first one on; NaN before."""
    weight, means = 2.0 / (span_bars + 1.0), np.empty_like(closes)
    now = np.full(len(closes), np.nan)
    for bar, close in enumerate(closes.T):
        now = np.where(np.isfinite(now), now + weight * (close - now), close)
        means[:, bar] = now
    return means


def sign_or_flat(values: FloatArray) -> FloatArray:
    """Return −1, 0 or 1 (N, T); 0 where a value is not known yet."""
    return np.where(np.isfinite(values), np.sign(values), 0.0)
