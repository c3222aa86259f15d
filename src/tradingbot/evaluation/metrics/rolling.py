"""Figures of a moving window of bars: Sharpe ratio, volatility, beta and alpha.

Every figure is the whole-period one of `metrics.returns` over the last W bars: cash at 0, deviation
with W − 1. NaN where a window does not move, or begins before the first bar.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray

MIN_WINDOW_BARS = 2


def rolling_sharpe(
    returns: ArrayLike, ends: IntArray, *, window_bars: int, bars_per_year: float
) -> FloatArray:
    """Return the annual Sharpe ratio (K,) of the window that ends with each bar of `ends`.

    Args:
        returns: (T,) simple, per bar.
        ends: (K,) places of bars, 0 … T − 1.
        window_bars: W, two or more.
        bars_per_year: Of the market's calendar.
    """
    mean, deviation = _moments(_windows(returns, ends, window_bars))
    return _ratio(mean, deviation) * math.sqrt(bars_per_year)


def rolling_volatility(
    returns: ArrayLike, ends: IntArray, *, window_bars: int, bars_per_year: float
) -> FloatArray:
    """Return the annual standard deviation (K,), share; 0 where a window does not move.

    Arguments are those of `rolling_sharpe`.
    """
    deviation = _moments(_windows(returns, ends, window_bars))[1]
    return deviation * math.sqrt(bars_per_year)


def rolling_beta(
    returns: ArrayLike, reference: ArrayLike, ends: IntArray, *, window_bars: int
) -> FloatArray:
    """Return the slope (K,) on the reference's returns (T,); NaN where the reference stands."""
    return _regression(returns, reference, ends, window_bars)[0]


def rolling_alpha(
    returns: ArrayLike,
    reference: ArrayLike,
    ends: IntArray,
    *,
    window_bars: int,
    bars_per_year: float,
) -> FloatArray:
    """Return the intercept (K,) on the reference's returns × bars a year, share; NaN as beta."""
    return _regression(returns, reference, ends, window_bars)[1] * bars_per_year


def _regression(
    returns: ArrayLike, reference: ArrayLike, ends: IntArray, window_bars: int
) -> tuple[FloatArray, FloatArray]:
    mine, market = (_windows(each, ends, window_bars) for each in (returns, reference))
    inputs.same_length(np.asarray(returns), np.asarray(reference), "returns and reference")
    scores = market - market.mean(axis=1, keepdims=True)
    squares = (scores * scores).sum(axis=1)
    own = mine - mine.mean(axis=1, keepdims=True)
    slope = np.divide(
        (scores * own).sum(axis=1),
        squares,
        out=np.full(len(scores), math.nan),
        where=_moves(market),
    )
    return slope, mine.mean(axis=1) - slope * market.mean(axis=1)


def _windows(series: ArrayLike, ends: IntArray, window_bars: int) -> FloatArray:
    """Return the bars (K, W) of each window; NaN in those that begin before the first bar."""
    numbers = inputs.finite_series(series, "returns")
    width = inputs.require_count(window_bars, "window_bars", at_least=MIN_WINDOW_BARS)
    if len(ends) and not (ends.min() >= 0 and ends.max() < len(numbers)):
        rule = "windows must end at bars of the series"
        raise DataError(rule, was=f"{ends.min()} … {ends.max()}", where=f"{len(numbers)} bars")
    places = np.asarray(ends)[:, None] + np.arange(1 - width, 1)
    # What lies before the first bar is read from the end and then taken away.
    found: FloatArray = np.where((places >= 0).all(axis=1, keepdims=True), numbers[places], np.nan)
    return found


def _moments(windows: FloatArray) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(windows[:, 0])
    deviation = np.where(_moves(windows), windows.std(axis=1, ddof=1), 0.0)
    return windows.mean(axis=1), np.where(known, deviation, math.nan)


def _moves(windows: FloatArray) -> NDArray[np.bool_]:
    """Tell which windows (K,) move by more than rounding; not those before the first whole one."""
    return inputs.moves(windows.T)


def _ratio(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    undefined = np.full(len(mean), math.nan)
    return np.asarray(np.divide(mean, deviation, out=undefined, where=deviation > 0.0))
