"""A backtest as metrics read it: all sleeves together are one portfolio."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.evaluation.metrics.registry import PerformanceSeries

FloatArray = NDArray[np.float64]


def outcome_of(played: Backtest, *, reference: FloatArray | None = None) -> PerformanceSeries:
    """Return what the portfolio did.

    Args:
        played: Of any number of sleeves.
        reference: (S,) simple returns of the reference index on the same bars.
    """
    before, after = weights(played.equity[:-1]), weights(played.equity[1:])
    closed = ~played.trades.is_open
    return PerformanceSeries(
        returns=played.portfolio_returns,
        bars_per_year=played.bars_per_year,
        reference=reference,
        trade_pnl=played.trades.pnl_ccy[closed],
        trade_bars=played.trades.bars[closed],
        turnover=(before * played.turnover_frac).sum(axis=1),
        exposure=(after * np.abs(played.position_frac)).sum(axis=1),
        costs=(before * played.cost_frac).sum(axis=1),
    )


def weights(equity: FloatArray) -> FloatArray:
    """Return each sleeve's share (S, N) of the portfolio; 0 where nothing is left."""
    whole = equity.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(equity, whole, out=np.zeros_like(equity), where=whole > 0.0)
    return shares
