"""From a portfolio's backtest to how it divided capital."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.factor import MarketFactor
from tradingbot.evaluation.allocation.rules import EQUAL_WEIGHT
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.dossier.allocation import OUTSIDE_FRAC, Allocation, SleeveRow
from tradingbot.evaluation.metrics import returns
from tradingbot.evaluation.performance.measure import annual_sharpe_or_zero
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval
from tradingbot.learning.allocation_shrinkage import EQUAL_CASH_FRAC

_SAME_WEIGHTS_FRAC = 1e-6


def measure_allocation(
    subject: PortfolioRun, played: Backtest, beside: list[Backtest], factor: MarketFactor
) -> Allocation:
    """Say how the master divided capital over the bars of a backtest.

    Args:
        subject: The run.
        played: What its chain did.
        beside: Other policies over the same bars, equal weight of the same sleeves among them.
        factor: The market, which alpha is beside.
    """
    assert played.weights is not None
    assert played.cash_frac is not None
    fixed = next(each for each in beside if each.policy == EQUAL_WEIGHT)
    years = [
        returns.annual_return(each.portfolio_returns, bars_per_year=each.bars_per_year)
        for each in (played, fixed)
    ]
    mine, theirs = (attribute_backtest(each, factor).alpha.mean(axis=1) for each in (played, fixed))
    weights, cash = played.weights, played.cash_frac
    moved = 0.5 * np.abs(np.diff(weights, axis=0)).sum(axis=1)
    return Allocation(
        traded_by=subject.traded_by,
        rows=_rows(subject, played),
        least_cash_frac=float(np.quantile(cash, OUTSIDE_FRAC)),
        mean_cash_frac=float(cash.mean()),
        most_cash_frac=float(np.quantile(cash, 1.0 - OUTSIDE_FRAC)),
        moved_per_bar_frac=float(moved.mean()) if len(moved) else 0.0,
        fixed=EQUAL_WEIGHT,
        over_fixed_annual_frac=years[0] - years[1],
        over_fixed_bps=net_bps_interval(added_by_master(mine, theirs, weights)),
        fixed_alpha_bps=net_bps_interval(theirs),
    )


def added_by_master(
    mine: NDArray[np.float64], theirs: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return alpha over equal weight that keeps as much cash as a master in equal weight does.

    With the cash alone a master would add to sleeves that lose, and take from those that earn. One
    that gives every sleeve the same at every bar is the fixed allocation, and adds nothing.
    """
    if np.ptp(weights[:, :-1]) < _SAME_WEIGHTS_FRAC:  # the last one is cash
        return np.zeros_like(mine)
    return mine - (1.0 - EQUAL_CASH_FRAC) * theirs


def _rows(subject: PortfolioRun, played: Backtest) -> tuple[SleeveRow, ...]:
    assert played.weights is not None
    alone = subject.sleeve_returns(played)
    earned = np.bincount(
        played.trades.symbol, weights=played.trades.pnl_ccy, minlength=len(played.traded)
    )
    return tuple(
        SleeveRow(
            symbol=symbol,
            mean_weight_frac=float(played.weights[:, place].mean()),
            most_weight_frac=float(played.weights[:, place].max()),
            sharpe_annual=annual_sharpe_or_zero(alone[:, place], played.bars_per_year),
            total_return_frac=returns.total_return(alone[:, place]),
            pnl_ccy=float(earned[place]),
        )
        for place, symbol in enumerate(played.traded)
    )
