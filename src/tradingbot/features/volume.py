"""Volume: traded units, their average, and on-balance volume."""

from __future__ import annotations

from math import inf, log

from tradingbot.features.graph.nodes import Input, apply, lag, mean, rolling, running_sum
from tradingbot.features.price import CLOSE_CHANGE
from tradingbot.features.spec import FeatureSpec

AVERAGE_BARS = 20

VOLUME = Input(name="volume")
VOLUME_SMA_20 = mean(VOLUME, AVERAGE_BARS)
_SIGNED_VOLUME = apply("sign", CLOSE_CHANGE) * VOLUME

volume = FeatureSpec(
    name="volume",
    unit="units",
    family="technical",
    raw=VOLUME,
    network=apply("log1p", apply("divide_or", VOLUME, VOLUME_SMA_20, 1.0)) - log(2.0),
    formula="volume",
    network_formula="ln(1 + volume / volume_sma_20) − ln 2",
    network_range=(-log(2.0), log(AVERAGE_BARS + 1.0) - log(2.0)),
    nan_policy="network form: NaN for the first 19 bars; no volume in 20 bars: 0",
    description="Units traded in the bar",
)
on_balance_volume = FeatureSpec(
    name="obv",
    unit="units",
    family="technical",
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
volume_sma_20 = FeatureSpec(
    name="volume_sma_20",
    unit="units",
    family="technical",
    raw=VOLUME_SMA_20,
    network=apply("log_ratio", VOLUME_SMA_20, lag(VOLUME_SMA_20, AVERAGE_BARS)),
    formula="mean of the last 20 volumes",
    network_formula="ln(volume_sma_20 / volume_sma_20 20 bars ago)",
    network_range=(-inf, inf),
    nan_policy="NaN for the first 19 bars, network form 39; either average zero: 0",
    description="Simple moving average of volume",
)
