"""Figures of one series of returns beside another: what the market gave, and what came on top."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.evaluation.metrics.returns import annual_return, annual_sharpe
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import FloatArray, spread_of


def beta(returns: ArrayLike, reference: ArrayLike) -> float:
    """Return the slope of returns on the reference's, both per bar.

    NaN for fewer than two bars, or where the reference does not move.
    """
    mine, market = _pair(returns, reference)
    if math.isnan(spread_of(market)):
        return math.nan
    scores = market - market.mean()
    scale = float(np.abs(scores).max())
    scores = scores / scale
    return float(scores @ (mine - mine.mean())) / float(scores @ scores) / scale


def annual_alpha(returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float) -> float:
    """Return the intercept of returns on the reference's × bars per year, share; not compounded.

    NaN where beta is.
    """
    mine, market = _pair(returns, reference)
    slope = beta(mine, market)
    if math.isnan(slope):
        return math.nan
    return float(mine.mean() - slope * market.mean()) * bars_per_year


def annual_excess_return(
    returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float
) -> float:
    """Return the yearly compounded return less the reference's, share; NaN for no bar."""
    mine, market = _pair(returns, reference)
    return annual_return(mine, bars_per_year=bars_per_year) - annual_return(
        market, bars_per_year=bars_per_year
    )


def information_ratio(returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float) -> float:
    """Return the annual Sharpe ratio of returns less the reference's; NaN where they never differ.

    Mean ÷ standard deviation (T − 1) of the differences per bar × √bars per year.
    """
    mine, market = _pair(returns, reference)
    return annual_sharpe(mine - market, bars_per_year=bars_per_year)


def _pair(returns: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    mine, market = (
        inputs.finite_series(returns, "returns"),
        inputs.finite_series(reference, "reference"),
    )
    inputs.same_length(mine, market, "returns and reference")
    return mine, market
