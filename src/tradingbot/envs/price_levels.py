"""Support, resistance and trend of every bar: what a potential of shaping reads of the market."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tradingbot.envs.world import FloatArray, World

LEVEL_BARS = 20
"""Bars, the present one among them, whose extremes are support and resistance."""
_BOUND = 10.0


def price_levels(world: World) -> FloatArray:
    """Return support, resistance and trend, (N, T, 3), known at the close of each bar.

    Support is the way from the lowest low of the last 20 bars up to the close, resistance that
    from the close to the highest high, both ÷ the mean range of those bars and cut to 10; the trend
    is `trend_regime`, in [−1, 1]. 0 where there are fewer bars, or nothing moved.

    Example:
        >>> from tradingbot.envs.build_world import synthetic_world
        >>> price_levels(synthetic_world(n_bars=400)).shape
        (4, 400, 3)
    """
    high, low, close = (world.prices[..., place] for place in (1, 2, 3))
    lowest, highest = -_trailing(np.fmax.reduce, -low), _trailing(np.fmax.reduce, high)
    span = _trailing(_mean, high - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.stack([close - lowest, highest - close], axis=-1) / span[..., None]
    ways = np.clip(np.nan_to_num(ways, nan=0.0, posinf=0.0, neginf=0.0), 0.0, _BOUND)
    trend = world.regimes[..., world.regime_names.index("trend_regime")]
    return np.concatenate([ways, trend[..., None]], axis=-1, dtype=np.float32)


def _trailing(reduce: object, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reduce the last `LEVEL_BARS` values of each bar, (N, T); NaN before there are as many."""
    result = np.full(values.shape, np.nan)
    if values.shape[1] >= LEVEL_BARS:
        windows = sliding_window_view(values, LEVEL_BARS, axis=1)
        result[:, LEVEL_BARS - 1 :] = reduce(windows, axis=-1)  # type: ignore[operator]
    return result


def _mean(windows: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the mean of what is known; NaN where nothing is."""
    known = np.isfinite(windows).sum(axis)
    total = np.nansum(windows, axis)
    mean: NDArray[np.float64] = np.where(known > 0, total / np.maximum(known, 1), np.nan)
    return mean
