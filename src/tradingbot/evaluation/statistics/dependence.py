"""How much a series hangs together in time: long-run variance, and bars that count as separate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import FloatArray

_SIGNIFICANCE = 2.0
"""Autocorrelations within this many √(log10 n ÷ n) count as none."""
_MIN_BARS = 8
_LEAST_SHARE = 0.1
"""Of the plain variance that the long-run one is at least: less is chance, not certainty."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """Autocovariances of a series divided by its largest deviation, and what follows from them."""

    covariance: FloatArray
    """(lags + 1,) from lag 0."""
    window_bars: int
    """Lags that count, tapered from half of them on."""
    long_run: float
    """Sum of all covariances in the window: T × variance of the mean; may be ≤ 0 by chance."""
    trend: float
    """The same with each covariance times its lag."""

    @property
    def inflation(self) -> float:
        """By what dependence multiplies the variance of the mean; 1 for independent bars."""
        plain = float(self.covariance[0])
        return max(self.long_run, _LEAST_SHARE * plain) / plain if plain > 0.0 else 1.0


def measure_dependence(series: FloatArray, *, least_window_bars: int = 0) -> Dependence:
    """Measure autocovariances with a flat-top window whose width the correlogram decides.

    Args:
        series: (T,) that moves, at least 8 numbers.
        least_window_bars: Lags that count in any case, at most half of the bars.

    Source: Politis & White, Automatic Block-Length Selection (2004).
    """
    count = len(series)
    deviation = series - series.mean()
    deviation = deviation / np.abs(deviation).max()
    quiet = max(5, int(math.log10(count)))
    most = min(math.ceil(math.sqrt(count)) + quiet, count - 2)
    least = min(least_window_bars, count // 2)
    products = np.array(
        [deviation[lag:] @ deviation[: count - lag] for lag in range(max(most, least) + 1)]
    )
    width = max(least, _window_bars(deviation, np.abs(products[: most + 1]), quiet, most))
    steps = np.arange(1, width + 1)
    taper = np.where(steps / width <= 0.5, 1.0, 2.0 * (1.0 - steps / width))
    covariance = products / count
    tapered = 2.0 * taper * covariance[1 : width + 1]
    return Dependence(
        covariance=covariance,
        window_bars=width,
        long_run=float(covariance[0]) + float(tapered.sum()),
        trend=float((tapered * steps).sum()),
    )


def effective_bars(series: ArrayLike) -> float:
    """Return how many independent bars know the mean as well as these (T,); at most T."""
    numbers = inputs.finite_series(series, "series")
    if len(numbers) < _MIN_BARS or math.isnan(inputs.spread_of(numbers)):
        return float(len(numbers))
    return len(numbers) / max(1.0, measure_dependence(numbers).inflation)


def _window_bars(deviation: FloatArray, products: FloatArray, quiet: int, most: int) -> int:
    """Twice the lag after which `quiet` autocorrelations in a row are insignificant."""
    count = len(deviation)
    squares = np.concatenate([[0.0], np.cumsum(deviation**2)])
    lags = np.arange(most + 1)
    later, earlier = squares[-1] - squares[lags + 1], squares[count - lags - 1]
    scale = np.sqrt(np.maximum(later * earlier, 0.0))
    correlation = np.divide(products, scale, out=np.zeros(most + 1), where=scale > 0.0)
    small = correlation < _SIGNIFICANCE * math.sqrt(math.log10(count) / count)
    for lag in range(quiet, most + 1):
        if small[lag - quiet : lag].all():
            return min(2 * max(lag - quiet, 1), most)
    return most
