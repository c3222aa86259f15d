"""Intervals of means that respect autocorrelation and changing variance (Newey–West)."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import NORMAL, FloatArray, spread_of
from tradingbot.evaluation.statistics.interval import Interval

MIN_BARS = 8


def automatic_lags(n_bars: int) -> int:
    """Return ⌊4·(T ÷ 100)^(2/9)⌋, the usual rule of thumb; below T."""
    return min(int(4.0 * (n_bars / 100.0) ** (2.0 / 9.0)), max(n_bars - 1, 0))


def mean_error(series: ArrayLike, *, lags: int | None = None) -> float:
    """Return the standard error of a mean, with Bartlett weights over `lags` autocovariances.

    Args:
        series: (T,), at least 8 numbers.
        lags: Autocovariances that count; by `automatic_lags` unless given.

    Returns:
        NaN where nothing moves.

    Source: Newey & West (1987).
    """
    numbers = inputs.finite_series(series, "series", at_least=MIN_BARS)
    used = automatic_lags(len(numbers)) if lags is None else lags
    if not 0 <= used < len(numbers):
        raise ConfigError("lags must lie between 0 and the number of bars − 1", was=used)
    if math.isnan(spread_of(numbers)):
        return math.nan
    return math.sqrt(_long_run_variance(numbers, used) / len(numbers))


def mean_interval(
    series: ArrayLike, *, lags: int | None = None, confidence: float = 0.95
) -> Interval:
    """Return a mean with its interval; in the unit of the series, per bar.

    Ends are NaN where nothing moves: a constant says nothing about its own uncertainty.
    """
    numbers = inputs.finite_series(series, "series", at_least=MIN_BARS)
    reach = NORMAL.inv_cdf(0.5 + inputs.require_share(confidence, "confidence") / 2.0)
    half, mean = reach * mean_error(numbers, lags=lags), float(numbers.mean())
    return Interval(mean, mean - half, mean + half)


def difference_interval(
    series: ArrayLike, other: ArrayLike, *, lags: int | None = None, confidence: float = 0.95
) -> Interval:
    """Return the mean of `series` − `other`, bar by bar, with its interval."""
    mine, others = inputs.finite_series(series, "series"), inputs.finite_series(other, "other")
    inputs.same_length(mine, others, "series")
    return mean_interval(mine - others, lags=lags, confidence=confidence)


def _long_run_variance(numbers: FloatArray, lags: int) -> float:
    deviations = numbers - numbers.mean()
    count = len(numbers)
    variance = float(deviations @ deviations) / count
    for lag in range(1, lags + 1):
        weight = 1.0 - lag / (lags + 1.0)
        variance += 2.0 * weight * float(deviations[lag:] @ deviations[:-lag]) / count
    return max(variance, 0.0)
