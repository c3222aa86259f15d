"""The tails of returns, as statistics of resampled histories; their shape beside a normal one.

Moments are in `statistics.sharpe`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.bootstrap import Statistic
from tradingbot.evaluation.statistics.inputs import FloatArray


def shortfall_statistic(level: float) -> Statistic:
    """Return the expected shortfall at a level, of histories (draws, T): the mean loss beyond."""
    tail = _tail_of(level)

    def measure(histories: FloatArray) -> FloatArray:
        bound = np.quantile(histories, tail, axis=1, keepdims=True)
        beyond = histories <= bound
        total = np.where(beyond, histories, 0.0).sum(axis=1)
        return np.asarray(-total / np.maximum(beyond.sum(axis=1), 1))

    return measure


def value_at_risk_statistic(level: float) -> Statistic:
    """Return the value at risk at a level, of histories (draws, T): the loss exceeded in 1 − level.

    Historical, linear between bars; below 0 where even that bar earns.
    """
    tail = _tail_of(level)
    return lambda histories: np.asarray(-np.quantile(histories, tail, axis=1))


def tail_ratio(returns: ArrayLike) -> float:
    """Return |95 % quantile| ÷ |5 % quantile|, above 1 where gains reach further than losses.

    NaN for no return, or where the 5 % quantile is 0.
    """
    series = inputs.finite_series(returns, "returns")
    if not len(series):
        return math.nan
    low, high = np.abs(np.quantile(series, [0.05, 0.95]))
    return float(high / low) if low > 0.0 else math.nan


def histogram(returns: ArrayLike, n_bins: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges (B + 1,), counts (B,), and counts (B,) that a normal distribution would have.

    The outer 0.5 % at either side lie in the outer bins, which reach as far as they must.

    Returns:
        Three empty arrays where nothing moves.
    """
    series = inputs.finite_series(returns, "returns")
    count = inputs.require_count(n_bins, "n_bins", at_least=3)
    if math.isnan(inputs.spread_of(series)):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    low, high = np.quantile(series, [0.005, 0.995])
    edges = np.linspace(low, high, count + 1)
    edges[0], edges[-1] = min(low, series.min()), max(high, series.max())
    counts = np.histogram(series, edges)[0].astype(np.float64)
    scores = (edges - series.mean()) / series.std(ddof=1)
    below = np.array([0.5 * (1.0 + math.erf(score / math.sqrt(2.0))) for score in scores])
    below[0], below[-1] = 0.0, 1.0
    return edges, counts, np.diff(below) * len(series)


def _tail_of(level: float) -> float:
    # Rounded: 1 − 0.9 is less than a tenth, and would pass by the bar at the quantile.
    return round(1.0 - inputs.require_share(level, "level"), 12)
