"""Price and volume: the fields of a bar, its 1-bar return, average and on-balance volume."""

from __future__ import annotations

from math import inf, log

from tradingbot.features.graph.nodes import Input, Node, apply, lag, mean, rolling, running_sum
from tradingbot.features.spec import FeatureSpec, technical

NETWORK_LOOKBACK_BARS = 24  # the learner's window: a close is seen relative to its start

OPEN = Input(name="open")
HIGH = Input(name="high")
LOW = Input(name="low")
CLOSE = Input(name="close")
VWAP = Input(name="vwap")
CLOSE_CHANGE = CLOSE - lag(CLOSE, 1)


def relative_to_close(x: Node) -> Node:
    """Return x / close − 1."""
    return x / CLOSE - 1.0


def _price(name: str, raw: Node, description: str) -> FeatureSpec:
    return technical(
        name=name,
        unit="quote currency",
        raw=raw,
        network=relative_to_close(raw),
        formula=name,
        network_formula=f"{name} / close − 1",
        network_range=(-1.0, inf),
        nan_policy="defined at every bar",
        description=description,
    )


open_price = _price("open", OPEN, "First trade price of the bar")
high_price = _price("high", HIGH, "Highest trade price of the bar")
low_price = _price("low", LOW, "Lowest trade price of the bar")
vwap_price = _price("vwap", VWAP, "Volume-weighted mean price of the bar")

close_price = technical(
    name="close",
    unit="quote currency",
    raw=CLOSE,
    network=apply("log_ratio", CLOSE, lag(CLOSE, NETWORK_LOOKBACK_BARS)),
    formula="close",
    network_formula="ln(close / close 24 bars ago)",
    network_range=(-inf, inf),
    nan_policy="network form: NaN for the first 24 bars",
    description="Last trade price of the bar",
)

simple_return = technical(
    name="return_1",
    unit="fraction per bar",
    raw=CLOSE / lag(CLOSE, 1) - 1.0,
    network=CLOSE / lag(CLOSE, 1) - 1.0,
    formula="close / previous close − 1",
    network_formula="as is",
    network_range=(-1.0, inf),
    nan_policy="NaN at the first bar",
    description="Simple return over one bar of the symbol's own clock",
)


AVERAGE_BARS = 20

VOLUME = Input(name="volume")
VOLUME_SMA_20 = mean(VOLUME, AVERAGE_BARS)
_SIGNED_VOLUME = apply("sign", CLOSE_CHANGE) * VOLUME

volume = technical(
    name="volume",
    unit="units",
    raw=VOLUME,
    network=apply("log1p", apply("divide_or", VOLUME, VOLUME_SMA_20, 1.0)) - log(2.0),
    formula="volume",
    network_formula="ln(1 + volume / volume_sma_20) − ln 2",
    network_range=(-log(2.0), log(AVERAGE_BARS + 1.0) - log(2.0)),
    nan_policy="network form: NaN for the first 19 bars; no volume in 20 bars: 0",
    description="Units traded in the bar",
)
on_balance_volume = technical(
    name="obv",
    unit="units",
    raw=running_sum(_SIGNED_VOLUME, start=0, seed=VOLUME),
    network=apply(
        "divide_or",
        rolling("sum", _SIGNED_VOLUME, AVERAGE_BARS),
        rolling("sum", VOLUME, AVERAGE_BARS),
        0.0,
    ),
    formula="sum of volume with the sign of the close's change, first bar's volume counted",
    network_formula="change of obv over 20 bars / volume over 20 bars",
    network_range=(-1.0, 1.0),
    nan_policy="network form: NaN for the first 20 bars; no volume in 20 bars: 0",
    description="On-balance volume",
)
volume_sma_20 = technical(
    name="volume_sma_20",
    unit="units",
    raw=VOLUME_SMA_20,
    network=apply("log_ratio", VOLUME_SMA_20, lag(VOLUME_SMA_20, AVERAGE_BARS)),
    formula="mean of the last 20 volumes",
    network_formula="ln(volume_sma_20 / volume_sma_20 20 bars ago)",
    network_range=(-inf, inf),
    nan_policy="NaN for the first 19 bars, network form 39; either average zero: 0",
    description="Simple moving average of volume",
)
