"""What a master sees of how sleeves did lately: pure functions of the bars up to now."""

from __future__ import annotations

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
    deviation = np.sqrt(
        np.maximum(_mean(returns**2, LONG_BARS) - _mean(returns, LONG_BARS) ** 2, 0)
    )
    known = np.maximum(deviation, _LEAST_DEVIATION)
    momentum = [
        np.sqrt(bars) * _mean(returns, bars) / known * (deviation > _LEAST_DEVIATION)
        for bars in (SHORT_BARS, LONG_BARS)
    ]
    fall = 1.0 - safe / _highest(safe, LONG_BARS)
    parts = (*momentum, _PERCENT * deviation, correlation_with_others(returns), fall)
    bounded: FloatArray = np.clip(np.stack(parts, axis=-1), -_BOUND, _BOUND)
    return bounded.astype(np.float32)


def correlation_with_others(returns: FloatArray) -> FloatArray:
    """Return the correlation (T, N) of each sleeve with the mean of the others over 168 bars."""
    n = returns.shape[1]
    if n == 1:
        return np.zeros_like(returns)
    others = (returns.sum(axis=1, keepdims=True) - returns) / (n - 1)
    means = [_mean(each, LONG_BARS) for each in (returns, others)]
    spread = [
        np.sqrt(np.maximum(_mean(each**2, LONG_BARS) - mean**2, 0.0))
        for each, mean in zip((returns, others), means, strict=True)
    ]
    shared = _mean(returns * others, LONG_BARS) - means[0] * means[1]
    product = spread[0] * spread[1]
    known = product > _LEAST_DEVIATION**2
    return np.where(known, shared / np.where(known, product, 1.0), 0.0)


def _highest(values: FloatArray, bars: int) -> FloatArray:
    """Return the highest (T, N) of the last so many bars, by windows of twice the length each."""
    best, width = values, 1
    while width < bars:
        step = min(width, bars - width)
        wider = best.copy()
        wider[step:] = np.maximum(best[step:], best[:-step])
        best, width = wider, width + step
    return best


def _mean(values: FloatArray, bars: int) -> FloatArray:
    """Return the mean (T, N) of the last so many bars; those before the first are 0."""
    total = np.cumsum(values, axis=0)
    before = np.zeros_like(total)
    before[bars:] = total[:-bars] if len(total) > bars else total[:0]
    return (total - before) / bars
