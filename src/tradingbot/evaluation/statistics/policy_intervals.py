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
from tradingbot.domain.student_t import student_point
from tradingbot.evaluation.statistics import bootstrap
from tradingbot.evaluation.statistics.bootstrap import MIN_BARS, Statistic, mean_of, sharpe_of
from tradingbot.evaluation.statistics.dependence import measure_dependence
from tradingbot.evaluation.statistics.inputs import (
    FloatArray,
    IntArray,
    finite_series,
    same_length,
)
from tradingbot.evaluation.statistics.interval import Interval, Z, wilson_interval

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
    if not numbers.any():  # every history is this one: of a policy that stays out
        return Interval(0.0, 0.0, 0.0)

    def defined(histories: FloatArray) -> FloatArray:
        return np.asarray(np.nan_to_num(statistic(histories), nan=0.0))

    return bootstrap.bootstrap_interval(numbers, defined, n_draws=DRAWS, seed=_SEED)


def sharpe_interval(portfolio_returns: ArrayLike, bars_per_year: float) -> Interval:
    """Return the annual Sharpe ratio of returns (S,); zeros where nothing moves."""
    return interval_of(portfolio_returns, sharpe_of).scaled(math.sqrt(bars_per_year))


def sharpe_difference(mine: ArrayLike, other: ArrayLike, bars_per_year: float) -> Interval:
    """Return the annual Sharpe ratio of returns (S,) less that of others on the same S bars.

    Both are resampled at the same bars, so that what they have in common does not widen the
    interval. A ratio counts as 0 where returns never move; zeros where the two never differ.

    Raises:
        DataError: If there are fewer than eight bars, lengths differ, or one is not a number.
    """
    pair = [finite_series(each, "returns", at_least=MIN_BARS) for each in (mine, other)]
    same_length(pair[0], pair[1], "returns of two policies")
    if (pair[0] == pair[1]).all():
        return Interval(0.0, 0.0, 0.0)

    def difference(histories: FloatArray) -> FloatArray:
        own, theirs = (np.nan_to_num(sharpe_of(histories[..., place])) for place in (0, 1))
        return np.asarray(own - theirs)

    found = bootstrap.bootstrap_interval(
        np.stack(pair, axis=1), difference, n_draws=DRAWS, seed=_SEED
    )
    return found.scaled(math.sqrt(bars_per_year))


def net_bps_interval(sleeve_returns: ArrayLike) -> Interval:
    """Return the mean return per bar in basis points.

    Args:
        sleeve_returns: (S, N) simple returns of sleeves, or (S,) their mean at each bar.
    """
    numbers = np.asarray(sleeve_returns, dtype=np.float64)
    means = numbers.mean(axis=1) if numbers.ndim == 2 else numbers
    return interval_of(means).scaled(_BASIS_POINTS)


def win_rate_interval(won: ArrayLike, first: IntArray, last: IntArray, n_bars: int) -> Interval:
    """Return the share of M trades that won, with an interval for trades that go together.

    Trades of correlated symbols at the same time win and lose together, so M of them know less of
    the rate than M separate ones. Every trade is spread evenly over the bars it lasted; the
    long-run variance of what that adds up to, per bar, says how many separate trades know as much.
    The interval is Wilson's of so many, with Student's point for as many stretches as there are.

    Args:
        won: (M,) bool, one or more.
        first: (M,) first bar of each, 0 … T − 1.
        last: (M,) last bar of each, not before the first.
        n_bars: T, at least 8.
    """
    wins = np.asarray(won, dtype=np.float64)
    share, bars = float(wins.mean()), last - first + 1
    deviation = _spread_over_bars((wins - share) / bars, first, last, n_bars)
    if not 0.0 < share < 1.0 or n_bars < MIN_BARS or not deviation.any():
        return wilson_interval(wins.sum(), len(wins))
    least = min(2 * math.ceil(float(bars.mean())), n_bars // 4)
    found = measure_dependence(deviation, least_window_bars=least)
    error = found.inflation * float(deviation.var()) * n_bars / len(wins) ** 2
    separate = min(float(len(wins)), share * (1.0 - share) / error)
    point = student_point(Z, n_bars / found.window_bars - 1.0)
    return wilson_interval(share * separate, separate, point=point)


def _spread_over_bars(
    parts: FloatArray, first: IntArray, last: IntArray, n_bars: int
) -> FloatArray:
    """Add what each trade is per bar to every bar that it lasted, (T,)."""
    steps = np.zeros(n_bars + 1)
    np.add.at(steps, first, parts)
    np.add.at(steps, last + 1, -parts)
    return np.cumsum(steps)[:n_bars]
