"""SMA-cross on a CSV file, beside holding, with a picture."""

import tradingbot as tb

# Synthetic daily bars stand for a file of yours: timestamp, open, high, low, close, volume.
tb.generate_bars("regimes", symbols=["SPY"], timeframe="1d").write_csv("bars.csv")

bars = tb.load_bars("bars.csv", stamps="close", synthetic=True)
result = tb.backtest("sma_cross:fast=20,slow=100", bars, costs="alpaca", against=["buy_and_hold"])
print(result.summary())
print("picture:", result.plot("sma_cross.png"))
