"""How accounts have done, at any time of their episodes: ratios that the state keeps ready."""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple

from tradingbot.market.maths import Maths, T
from tradingbot.market.params import SimulatorParams

LEAST_VARIANCE = 1.0e-18
"""Variances up to this are rounding errors, not risk."""


class AccountStatistics(NamedTuple, Generic[T]):
    """Statistics since the episode began, one number or (B,) each.

    Ratios are per bar: multiply by the square root of the bars in a year to annualise. Without a
    closed trade, or without risk, a ratio is 0; without a loss the profit factor is infinite.
    """

    return_frac: T
    drawdown_frac: T
    """From the highest equity so far to the last."""
    exposure_frac: T
    """Value of the position ÷ equity; 0 without equity."""
    sharpe: T
    sortino: T
    win_rate_frac: T
    profit_factor: T


def account_statistics(rules: SimulatorParams, account: Any, xp: Maths[T]) -> AccountStatistics[T]:
    """Measure accounts.

    Args:
        rules: Constants of the simulator.
        account: `Account` with (B,) tensors, or `ScalarAccount`.
        xp: The arithmetic that goes with it.
    """
    equity = account.equity
    zero: T = equity * 0.0
    steps = xp.maximum(account.steps + zero, 1.0)
    mean = account.return_sum / steps
    variance = account.return_squares / steps - mean * mean
    loss = xp.where(account.gross_loss > 0.0, account.gross_loss, 1.0)
    without_loss = xp.where(account.gross_profit > 0.0, math.inf, zero)
    return AccountStatistics(
        return_frac=equity / rules.account.initial_cash_ccy - 1.0,
        drawdown_frac=1.0 - equity / account.peak,
        exposure_frac=xp.where(
            equity > 0.0,
            xp.absolute(account.units) * account.mark / xp.where(equity > 0.0, equity, 1.0),
            zero,
        ),
        sharpe=_ratio(mean, variance, xp),
        sortino=_ratio(mean, account.downside_squares / steps, xp),
        win_rate_frac=account.n_wins / xp.maximum(account.n_trades + zero, 1.0),
        profit_factor=xp.where(account.gross_loss > 0.0, account.gross_profit / loss, without_loss),
    )


def _ratio(mean: T, variance: T, xp: Maths[T]) -> T:
    is_risk = variance > LEAST_VARIANCE
    return xp.where(is_risk, mean / xp.sqrt(xp.where(is_risk, variance, 1.0)), 0.0)
