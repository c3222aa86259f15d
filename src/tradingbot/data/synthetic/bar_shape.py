"""The inside of a bar: high, low, volume-weighted price and volume for a given open and close."""

from __future__ import annotations

import numpy as np

from tradingbot.data.synthetic.market import FloatArray

_VWAP_NOISE = 0.08  # standard deviation of the VWAP's place in the bar's range
_TINY = 1e-300  # keeps log(0) out when a uniform number is exactly 0


def extremes(
    opens: FloatArray, closes: FloatArray, variance: FloatArray, uniforms: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sample highs and lows of a Brownian bridge from open to close.

    High and low are drawn independently, each from its exact distribution given the two ends.

    Args:
        opens: (T, n) prices.
        closes: (T, n) prices.
        variance: (T, n) of the log price over the bar.
        uniforms: (2, T, n) in [0, 1).

    Returns:
        highs and lows, (T, n), with low ≤ open, close ≤ high in every cell.

    Source: first-passage law of the Brownian bridge, e.g. Karatzas and Shreve, "Brownian Motion
    and Stochastic Calculus", §4.3.
    """
    step = np.log(closes / opens)
    squared = step * step
    up = np.sqrt(squared - 2 * variance * np.log(np.maximum(uniforms[0], _TINY)))
    down = np.sqrt(squared - 2 * variance * np.log(np.maximum(uniforms[1], _TINY)))
    highs = opens * np.exp((step + up) / 2)
    lows = opens * np.exp((step - down) / 2)
    # Rounding may leave an extreme one unit in the last place inside the body.
    top, bottom = np.maximum(opens, closes), np.minimum(opens, closes)
    return np.maximum(highs, top), np.minimum(lows, bottom)


def mean_price(
    opens: FloatArray, highs: FloatArray, lows: FloatArray, closes: FloatArray, noise: FloatArray
) -> FloatArray:
    """Volume-weighted price: the middle of the four prices plus noise, inside [low, high]."""
    middle = (opens + highs + lows + closes) / 4
    return np.clip(middle + _VWAP_NOISE * noise * (highs - lows), lows, highs)


def traded_units(usual: FloatArray, heat: FloatArray, noise: FloatArray, link: float) -> FloatArray:
    """Volume that rises with the variance of the bar.

    Args:
        usual: (T, n) typical units for that time of day.
        heat: (T, n) variance of the bar ÷ its long-run mean.
        noise: (T, n) log deviation that has nothing to do with the price.
        link: Elasticity of volume to the bar's volatility.

    Returns:
        (T, n) whole units, at least 1.
    """
    volumes = usual * np.exp(noise)
    volumes *= np.power(np.maximum(heat, 1e-6), link / 2)
    return np.maximum(np.rint(volumes), 1.0)
