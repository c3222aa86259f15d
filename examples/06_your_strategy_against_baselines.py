"""A strategy class of your own against baselines, and trained agents on bars they never saw."""

import numpy as np

import tradingbot as tb


class Breakout:
    """Long above the highest close of `bars` bars, flat below the lowest; else as it is."""

    def __init__(self, bars: int = 40) -> None:
        self.bars = self.warm_up_bars = bars

    def __call__(self, view: tb.MarketView) -> np.ndarray:
        before, now = view.close[:, -self.bars - 1 : -1], view.close[:, -1]
        keep = np.where(now < before.min(axis=1), 0.0, np.nan)
        return np.where(now > before.max(axis=1), 1.0, keep)


market = {"symbols": ["QQQ", "SPY"], "start": "2025-04-01", "kappa": 0.3}
learned, new = (tb.generate_bars("planted", seed=seed, **market) for seed in (7, 8))  # synthetic
tb.check_strategy(Breakout, new)
print(tb.backtest(Breakout, new, against=["macd", "buy_and_hold"]).summary())
run = tb.train(learned, preset="quick", seed=1, validation__shrink=False)
print(tb.backtest(tb.load_policy(run), new, against=["buy_and_hold"]).summary())
