"""One vectorised backtester on the simulator: any policy × symbols × period × costs × delay."""

from tradingbot.evaluation.backtest.backtests import PolicyUnderTest, backtest, backtest_all
from tradingbot.evaluation.backtest.baselines import baseline, random_like
from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.evaluation.backtest.terms import bars_between, ready_bars, sleeve_config
from tradingbot.evaluation.backtest.trades import Trades

__all__ = [
    "Backtest",
    "PolicyUnderTest",
    "Trades",
    "backtest",
    "backtest_all",
    "bars_between",
    "baseline",
    "random_like",
    "ready_bars",
    "sleeve_config",
]
