"""A feature of your own, proved free of look-ahead, and a strategy that reads it."""

import numpy as np

import tradingbot as tb
from tradingbot.features.graph.nodes import Input, rolling
from tradingbot.features.spec import FeatureSpec

close = Input(name="close")
highest = rolling("highest", close, 20)
tb.feature(
    FeatureSpec(
        *("drawdown_20", "quote currency", "technical"),
        raw=close - highest,
        network=close / highest - 1.0,
        formula="close − highest close of 20 bars",
        network_formula="close / highest close of 20 bars − 1",
        network_range=(-1.0, 0.0),
        nan_policy="NaN for the first 19 bars",
    )
)
bars = tb.generate_bars("regimes", symbols=["SPY"], timeframe="1d", start="2022-01-03")  # synthetic
panel = tb.build_panel(bars)
print(panel, panel.manifest.features[-1])
buy_dips = tb.backtest(lambda v: np.where(v.features["drawdown_20"][:, -1] < -5, 1.0, np.nan), bars)
print(buy_dips)
