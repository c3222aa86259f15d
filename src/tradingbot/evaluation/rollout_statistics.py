"""What a rollout says about each policy: return, risk, costs and trades, net of everything."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.rollout import PolicyRollout
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval, sharpe_interval

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PolicyStatistics:
    """Figures of one policy; all sleeves together are one portfolio that is never rebalanced."""

    policy: str
    total_return_frac: float
    """Of the portfolio, net of costs."""
    sharpe_annual: Interval
    """Of the portfolio's returns per bar times √(bars per year); 95 %, stationary bootstrap."""
    max_drawdown_frac: float
    """Of the portfolio, at closes."""
    net_bps_per_bar: Interval
    """Mean of the sleeves' simple returns, basis points; 95 %, stationary bootstrap."""
    exposure_frac: float
    """Mean share of a sleeve that is invested."""
    n_trades: int
    """Closed ones."""
    n_open_trades: int
    win_rate_frac: float
    """Of closed trades; NaN where there is none."""
    commission_ccy: float
    slippage_ccy: float
    costs_frac: float
    """Commission and slippage ÷ initial cash."""
    turnover_per_bar_frac: float
    """Traded notional ÷ initial cash and bar."""
    reward: float
    """Mean over sleeves of the sum over bars."""


def measure_rollout(rollout: PolicyRollout, *, bars_per_year: float) -> list[PolicyStatistics]:
    """Measure every policy of a rollout.

    Args:
        rollout: Of at least eight bars, so that there is something to draw blocks from.
        bars_per_year: Of the market's calendar.

    Raises:
        DataError: If there are fewer bars.
    """
    return [
        _measure(rollout, index, bars_per_year=bars_per_year)
        for index in range(len(rollout.policies))
    ]


def portfolio_equity(rollout: PolicyRollout) -> FloatArray:
    """Return the worth (S + 1, P) of all sleeves of each policy, of 1 at the start."""
    equity: FloatArray = rollout.equity.mean(axis=2) / rollout.initial_cash_ccy
    return equity


def drawdown_of(equity: FloatArray) -> FloatArray:
    """Return the share lost since the highest worth so far, ≥ 0, along the first axis."""
    return 1.0 - equity / np.maximum.accumulate(equity, axis=0)


def _measure(rollout: PolicyRollout, index: int, *, bars_per_year: float) -> PolicyStatistics:
    whole = portfolio_equity(rollout)[:, index]
    sleeves = rollout.equity[:, index]
    mine = rollout.trades.policy == index
    closed = mine & ~rollout.trades.is_open
    n_closed = int(closed.sum())
    capital = rollout.initial_cash_ccy * len(rollout.symbols)
    commission = float(rollout.commission_ccy[index].sum())
    slippage = float(rollout.slippage_ccy[index].sum())
    return PolicyStatistics(
        policy=rollout.policies[index],
        total_return_frac=float(whole[-1] / whole[0] - 1.0),
        sharpe_annual=sharpe_interval(_returns(whole), bars_per_year),
        max_drawdown_frac=float(drawdown_of(whole).max()),
        net_bps_per_bar=net_bps_interval(_returns(sleeves)),
        exposure_frac=float(rollout.exposure_frac[index].mean()),
        n_trades=n_closed,
        n_open_trades=int(mine.sum()) - n_closed,
        win_rate_frac=float((rollout.trades.pnl_ccy[closed] > 0.0).mean())
        if n_closed
        else math.nan,
        commission_ccy=commission,
        slippage_ccy=slippage,
        costs_frac=(commission + slippage) / capital,
        turnover_per_bar_frac=float(rollout.turnover_ccy[index].sum()) / capital / rollout.n_bars,
        reward=float(rollout.reward_terms[:, index].sum(axis=0).mean()),
    )


def _returns(equity: FloatArray) -> FloatArray:
    """Simple returns along the first axis; 0 where nothing is left to lose."""
    before = equity[:-1]
    returns: FloatArray = np.divide(
        equity[1:], before, out=np.ones_like(before), where=before > 0.0
    )
    return returns - 1.0
