"""The one interval of a policy: Sharpe ratio and net return on the same bars, wherever shown.

Both are 95 % percentile intervals of `DRAWS` histories of the stationary bootstrap, whose block
length the series itself decides, drawn from one stream. Nothing of it can be set, so that the same
returns have the same interval in a training's result, a backtest, a rollout and a dossier.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics import bootstrap
from tradingbot.evaluation.statistics.bootstrap import MIN_BARS, Statistic, mean_of, sharpe_of
from tradingbot.evaluation.statistics.inputs import FloatArray, finite_series
from tradingbot.evaluation.statistics.interval import Interval

DRAWS = 2000
_SEED = 0
_BASIS_POINTS = 1e4


def interval_of(returns: ArrayLike, statistic: Statistic = mean_of) -> Interval:
    """Return a statistic of returns per bar with its 95 % interval.

    Args:
        returns: (S,) simple returns, at least 8 bars.
        statistic: `mean_of`, or `sharpe_of` for the Sharpe ratio per bar.

    Returns:
        A Sharpe ratio is 0 where returns never move, and in every history that does not: nothing
        was risked there and nothing earned.

    Raises:
        DataError: If there are fewer bars, or one is not a number.
    """
    numbers = finite_series(returns, "returns")
    if len(numbers) < MIN_BARS:
        rule = f"an interval must rest on {MIN_BARS} bars or more"
        raise DataError(rule, was=len(numbers), remedy="Use a longer period")

    def defined(histories: FloatArray) -> FloatArray:
        return np.asarray(np.nan_to_num(statistic(histories), nan=0.0))

    return bootstrap.bootstrap_interval(numbers, defined, n_draws=DRAWS, seed=_SEED)


def sharpe_interval(portfolio_returns: ArrayLike, bars_per_year: float) -> Interval:
    """Return the annual Sharpe ratio of returns (S,); zeros where nothing moves."""
    return interval_of(portfolio_returns, sharpe_of).scaled(math.sqrt(bars_per_year))


def net_bps_interval(sleeve_returns: ArrayLike) -> Interval:
    """Return the mean return per bar in basis points.

    Args:
        sleeve_returns: (S, N) simple returns of sleeves, or (S,) their mean at each bar.
    """
    numbers = np.asarray(sleeve_returns, dtype=np.float64)
    means = numbers.mean(axis=1) if numbers.ndim == 2 else numbers
    return interval_of(means).scaled(_BASIS_POINTS)
