"""Volatility: true range, Bollinger bandwidth and realised volatility."""

from __future__ import annotations

from math import inf

from tradingbot.features.graph.nodes import apply, lag, mean, rolling, smooth
from tradingbot.features.price import CLOSE, HIGH, LOW
from tradingbot.features.spec import technical
from tradingbot.features.trend import SMA_20

RANGE_BARS = 14
REALISED_BARS = 24

_PREVIOUS = lag(CLOSE, 1)
TRUE_RANGE = apply(
    "maximum",
    HIGH - LOW,
    apply("maximum", apply("absolute", HIGH - _PREVIOUS), apply("absolute", LOW - _PREVIOUS)),
)
ATR_14 = smooth(TRUE_RANGE, 1.0 / RANGE_BARS, start=RANGE_BARS, seed=mean(TRUE_RANGE, RANGE_BARS))
LOG_RETURN = apply("log_ratio", CLOSE, _PREVIOUS)
REALISED_VOLATILITY = rolling("deviation", LOG_RETURN, REALISED_BARS)
_BANDWIDTH = 4.0 * rolling("deviation", CLOSE, 20) / SMA_20

atr_14 = technical(
    name="atr_14",
    unit="quote currency",
    raw=ATR_14,
    network=ATR_14 / CLOSE,
    formula="Wilder average over 14 bars of max(high, previous close) − min(low, previous close)",
    network_formula="atr_14 / close",
    network_range=(0.0, inf),
    nan_policy="NaN for the first 14 bars",
    description="Average true range",
)
bollinger_bandwidth = technical(
    name="bollinger_bandwidth",
    unit="fraction",
    raw=_BANDWIDTH,
    network=_BANDWIDTH,
    formula="(upper − lower) / middle of bands at sma_20 ± 2 population standard deviations",
    network_formula="as is",
    network_range=(0.0, inf),
    nan_policy="NaN for the first 19 bars",
    description="Width of the Bollinger bands (20, 2) relative to their middle",
)
