"""Regime indicators: ten slow, normalised descriptions of what kind of market this is.

Raw and network form are the same. Percentiles look back on 168 bars.
"""

from __future__ import annotations

from tradingbot.features import volatility
from tradingbot.features.graph.nodes import Node, apply, lag, mean, over_symbols, rolling
from tradingbot.features.price import CLOSE, CLOSE_CHANGE, VOLUME_SMA_20
from tradingbot.features.spec import FeatureSpec
from tradingbot.features.trend import SMA_20

PERCENTILE_BARS = 168
TREND_BARS = 24
SLOW_TREND_BARS = 50
REFERENCE_VOLATILITY = 0.01  # standard deviation per bar that maps to one half


def _percentile(x: Node) -> Node:
    return rolling("percentile", apply("single", x), PERCENTILE_BARS)


def _regime(
    name: str, node: Node, formula: str, description: str, *, low: float = 0.0
) -> FeatureSpec:
    clock = " of the grid" if node.clock == "market" else ""
    return FeatureSpec(
        name=name,
        unit="0 to 1" if low == 0.0 else "−1 to 1",
        family="regime",
        raw=node,
        network=node,
        formula=formula,
        network_formula="as is",
        network_range=(low, 1.0),
        nan_policy=f"NaN for the first {node.warm_up_bars} bars{clock}; 0 where all stands still",
        description=description,
    )


_BELOW = "share of the last 167 values below the current one, of"
_LOG_RETURN_24 = apply("log_ratio", CLOSE, lag(CLOSE, TREND_BARS))
_PATH_LENGTH = apply(
    "sqrt", rolling("sum", volatility.LOG_RETURN * volatility.LOG_RETURN, TREND_BARS)
)
_EFFICIENCY = apply(
    "divide_or",
    apply("absolute", CLOSE - lag(CLOSE, TREND_BARS)),
    rolling("sum", apply("absolute", CLOSE_CHANGE), TREND_BARS),
    0.0,
)
_SLOPE = apply(
    "divide_or",
    SMA_20 - mean(CLOSE, SLOW_TREND_BARS),
    # Exactly 0 where nothing moved, unlike a recursion.
    mean(volatility.TRUE_RANGE, SLOW_TREND_BARS),
    0.0,
)
# Compared as sums, since 20 equal closes add up to exactly 20 times the close.
_ABOVE_AVERAGE = 20.0 * CLOSE - rolling("sum", CLOSE, 20)
_EARLIER_VOLATILITY = lag(volatility.REALISED_VOLATILITY, TREND_BARS)

realised_volatility = _regime(
    "realised_volatility",
    volatility.REALISED_VOLATILITY / (volatility.REALISED_VOLATILITY + REFERENCE_VOLATILITY),
    "σ / (σ + 0.01), σ the standard deviation of 24 log returns",
    "Volatility per bar on a fixed scale",
)
volatility_regime = _regime(
    "volatility_regime",
    _percentile(volatility.REALISED_VOLATILITY),
    f"{_BELOW} σ",
    "Volatility against the symbol's own recent past",
)
trend_strength = _regime(
    "trend_strength",
    apply("minimum", _EFFICIENCY, 1.0),
    "|close − close 24 bars ago| / sum of |changes| over 24 bars",
    "Efficiency ratio: net movement per distance travelled",
)
trend_regime = _regime(
    "trend_regime",
    apply("squash", _SLOPE),
    "s / √(1 + s²), s = (sma_20 − sma_50) / mean true range of 50 bars",
    "Direction of the slow trend in units of the usual range",
    low=-1.0,
)
volume_regime = _regime(
    "volume_regime",
    _percentile(VOLUME_SMA_20),
    f"{_BELOW} volume_sma_20",
    "Volume against the symbol's own recent past",
)
atr_regime = _regime(
    "atr_regime",
    _percentile(volatility.ATR_14 / CLOSE),
    f"{_BELOW} atr_14 / close",
    "Range against the symbol's own recent past",
)
momentum_regime = _regime(
    "momentum_regime",
    apply("squash", apply("divide_or", _LOG_RETURN_24, _PATH_LENGTH, 0.0)),
    "m / √(1 + m²), m = ln(close / close 24 bars ago) / √(sum of 24 squared log returns)",
    "Return over 24 bars in units of its expected size",
    low=-1.0,
)
volatility_trend = _regime(
    "volatility_trend",
    apply(
        "divide_or",
        volatility.REALISED_VOLATILITY - _EARLIER_VOLATILITY,
        volatility.REALISED_VOLATILITY + _EARLIER_VOLATILITY,
        0.0,
    ),
    "(σ − σ₂₄) / (σ + σ₂₄), σ₂₄ the value 24 bars ago",
    "Whether volatility rises or falls",
    low=-1.0,
)
market_breadth = _regime(
    "market_breadth",
    over_symbols(apply("maximum", apply("sign", _ABOVE_AVERAGE), 0.0)),
    "share of the symbols with a bar now whose close > sma_20",
    "How many symbols take part in a rise; the same number for every symbol",
)
volatility_index_proxy = _regime(
    "volatility_index_proxy",
    _percentile(over_symbols(volatility.REALISED_VOLATILITY)),
    f"{_BELOW} the mean σ over symbols",
    "Volatility of the market against its own recent past; the same number for every symbol",
)
