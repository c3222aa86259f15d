"""Train one agent per symbol, and get a Sharpe ratio with its interval on bars not learned from."""

import tradingbot as tb

# Synthetic bars with a planted signal; tb.load_bars("yours.csv") reads yours.
bars = tb.generate_bars("planted", symbols=["QQQ", "SPY"], start="2025-02-03", kappa=0.3)
run = tb.train(bars, preset="quick", seed=1, validation__shrink=False)  # keep what was learned
print(run.summary())
print(f"test Sharpe {run.sharpe.estimate:.2f} [{run.sharpe.low:.2f}, {run.sharpe.high:.2f}] 95 %")
