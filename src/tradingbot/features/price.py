"""Prices themselves: open, high, low, close, vwap and the 1-bar return."""

from __future__ import annotations

from math import inf

from tradingbot.features.graph.nodes import Input, Node, apply, lag
from tradingbot.features.spec import FeatureSpec

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
    return FeatureSpec(
        name=name,
        unit="quote currency",
        family="technical",
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

close_price = FeatureSpec(
    name="close",
    unit="quote currency",
    family="technical",
    raw=CLOSE,
    network=apply("log_ratio", CLOSE, lag(CLOSE, NETWORK_LOOKBACK_BARS)),
    formula="close",
    network_formula="ln(close / close 24 bars ago)",
    network_range=(-inf, inf),
    nan_policy="network form: NaN for the first 24 bars",
    description="Last trade price of the bar",
)

simple_return = FeatureSpec(
    name="return_1",
    unit="fraction per bar",
    family="technical",
    raw=CLOSE / lag(CLOSE, 1) - 1.0,
    network=CLOSE / lag(CLOSE, 1) - 1.0,
    formula="close / previous close − 1",
    network_formula="as is",
    network_range=(-1.0, inf),
    nan_policy="NaN at the first bar",
    description="Simple return over one bar of the symbol's own clock",
)
