"""What a master sees of how sleeves did lately: pure functions of the bars up to now."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SHORT_BARS, LONG_BARS = 24, 168
"""Over how many bars sleeves are looked back on."""
RECENT_NAMES = ("momentum_short", "momentum_long", "volatility", "correlation", "drawdown")
"""Numbers of `recent_record`, in order."""
_BOUND = 5.0
_LEAST_DEVIATION = 1e-6
_PERCENT = 100.0


def recent_record(value: FloatArray) -> NDArray[np.float32]:
    """Return five numbers (T, N, 5) of each sleeve at every close.

    Mean return of the last 24 and 168 bars in its standard errors; deviation of the returns of 168
    bars in percent; their correlation with the mean of the other sleeves; fall from the highest
    value of 168 bars. Bars before the first count as without a return; all lie in [−5, 5].

    Args:
        value: (T, N) what sleeves are worth at the closes; above 0.
    """
    returns = np.zeros_like(value)
    safe = np.maximum(value, np.finfo(np.float64).tiny)
    returns[1:] = safe[1:] / safe[:-1] - 1.0
    totals = np.cumsum(_summed(returns), axis=1)
    short, long = _mean(totals[:1], SHORT_BARS), _mean(totals, LONG_BARS)
    return _five_numbers(short[0], long, safe, _highest(safe, LONG_BARS))


class RecentRecord:
    """The same numbers of N sleeves one close after another, to the last bit."""

    def __init__(self, n_sleeves: int) -> None:
        """Begin before the first close."""
        self._values: deque[FloatArray] = deque(maxlen=LONG_BARS)
        self._totals: deque[FloatArray] = deque(maxlen=LONG_BARS + 1)
        self._totals.append(np.zeros((5, n_sleeves)))
        self._n_sleeves = n_sleeves

    def take(self, value: FloatArray) -> NDArray[np.float32]:
        """Take what sleeves (N,) are worth at the next close; return their numbers, (N, 5)."""
        safe = np.maximum(value, np.finfo(np.float64).tiny)
        returns = safe / self._values[-1] - 1.0 if self._values else np.zeros(self._n_sleeves)
        self._values.append(safe)
        self._totals.append(self._totals[-1] + _summed(returns[None])[:, 0])
        kept = self._totals
        short, long = (
            (kept[-1] - kept[max(len(kept) - 1 - bars, 0)]) / bars
            for bars in (SHORT_BARS, LONG_BARS)
        )
        highest = np.max(self._values, axis=0)
        numbers = _five_numbers(short[:1], long[:, None], safe[None], highest[None])
        return np.asarray(numbers[0])


def _summed(returns: FloatArray) -> FloatArray:
    """Return what means are taken of, (5, T, N): returns, of the others, squares, products."""
    n = returns.shape[1]
    others = (returns.sum(axis=1, keepdims=True) - returns) / max(n - 1, 1)
    return np.stack([returns, returns**2, others, others**2, returns * others])


def _five_numbers(
    short: FloatArray, long: FloatArray, safe: FloatArray, highest: FloatArray
) -> NDArray[np.float32]:
    """Return (T, N, 5) of mean returns (T, N) of few bars, and means (5, T, N) of many."""
    deviation = np.sqrt(np.maximum(long[1] - long[0] ** 2, 0))
    known = np.maximum(deviation, _LEAST_DEVIATION)
    momentum = [
        np.sqrt(bars) * mean / known * (deviation > _LEAST_DEVIATION)
        for bars, mean in ((SHORT_BARS, short), (LONG_BARS, long[0]))
    ]
    fall = 1.0 - safe / highest
    parts = (*momentum, _PERCENT * deviation, _correlation(long), fall)
    bounded: FloatArray = np.clip(np.stack(parts, axis=-1), -_BOUND, _BOUND)
    return bounded.astype(np.float32)


def _correlation(means: FloatArray) -> FloatArray:
    """Return correlations (T, N) of each sleeve with the mean of the others."""
    own, own_square, other, other_square, product_mean = means
    if own.shape[-1] == 1:
        return np.zeros_like(own)
    spread = [
        np.sqrt(np.maximum(square - mean**2, 0.0))
        for mean, square in ((own, own_square), (other, other_square))
    ]
    product = spread[0] * spread[1]
    known = product > _LEAST_DEVIATION**2
    return np.where(known, (product_mean - own * other) / np.where(known, product, 1.0), 0.0)


def _highest(values: FloatArray, bars: int) -> FloatArray:
    """Return the highest (T, N) of the last so many bars, by windows of twice the length each."""
    best, width = values, 1
    while width < bars:
        step = min(width, bars - width)
        wider = best.copy()
        wider[step:] = np.maximum(best[step:], best[:-step])
        best, width = wider, width + step
    return best


def _mean(totals: FloatArray, bars: int) -> FloatArray:
    """Return means (…, T, N) of the last so many bars of running totals; before the first, 0."""
    before = np.zeros_like(totals)
    before[:, bars:] = totals[:, :-bars] if totals.shape[1] > bars else totals[:, :0]
    return (totals - before) / bars
