"""95 % intervals of a mean and a Sharpe ratio that respect how returns hang together.

Where symbols are independent each is one replicate, whatever its own autocorrelation. Where they
share factors, histories of all symbols together are drawn by the stationary bootstrap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.bootstrap import automatic_block_bars, bar_counts
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import DRAWS

FloatArray = NDArray[np.float64]

_Z = 1.959963984540054  # 97.5 % point of the normal distribution
_MIN_REPLICATES = 8


def intervals_over_symbols(net_returns: FloatArray) -> tuple[Interval, Interval]:
    """Estimate mean and Sharpe ratio per bar from independent symbols.

    Args:
        net_returns: (T, N), at least eight symbols.

    Returns:
        Interval of the mean net return and of the symbols' mean Sharpe ratio, both per bar.
    """
    _require_replicates(net_returns.shape[1], "symbols")
    means = net_returns.mean(axis=0)
    return _student(means), _student(_ratio(means, net_returns.std(axis=0)))


def intervals_over_time(net_returns: FloatArray, *, seed: int = 0) -> tuple[Interval, Interval]:
    """Estimate mean and Sharpe ratio per bar where symbols move together.

    Args:
        net_returns: (T, N), at least eight bars.
        seed: Root of the stream that draws histories.

    Returns:
        Percentile intervals of the mean net return and of the symbols' mean Sharpe ratio, by the
        stationary bootstrap whose block length the mean of the symbols decides.
    """
    n_bars = len(net_returns)
    _require_replicates(n_bars, "bars")
    generator = stream(seed, "oracle", "histories")
    length = automatic_block_bars(net_returns.mean(axis=1))
    squares, means, ratios = net_returns**2, [], []
    for counts in bar_counts(n_bars, block_bars=length, n_draws=DRAWS, generator=generator):
        mean = counts @ net_returns / n_bars
        spread = np.sqrt(np.maximum(counts @ squares / n_bars - mean**2, 0.0))
        means.append(mean.mean(axis=1))
        ratios.append(_ratio(mean, spread).mean(axis=1))
    estimate = net_returns.mean(axis=0)
    ratio = _ratio(estimate, net_returns.std(axis=0))
    return (
        _percentiles(float(estimate.mean()), np.concatenate(means)),
        _percentiles(float(ratio.mean()), np.concatenate(ratios)),
    )


def _require_replicates(count: int, what: str) -> None:
    if count < _MIN_REPLICATES:
        raise DataError(
            f"an interval must rest on {_MIN_REPLICATES} {what} or more",
            was=count,
            remedy="Use more symbols or a longer period",
        )


def _student(replicates: FloatArray) -> Interval:
    count = len(replicates)
    centre = float(replicates.mean())
    half = _student_point(count - 1) * float(replicates.std(ddof=1)) / math.sqrt(count)
    return Interval(centre, centre - half, centre + half)


def _student_point(freedom: int) -> float:
    """97.5 % point of Student's t by Cornish-Fisher; within 0.2 % from seven degrees on."""
    first = (_Z**3 + _Z) / 4.0
    second = (5.0 * _Z**5 + 16.0 * _Z**3 + 3.0 * _Z) / 96.0
    third = (3.0 * _Z**7 + 19.0 * _Z**5 + 17.0 * _Z**3 - 15.0 * _Z) / 384.0
    return _Z + first / freedom + second / freedom**2 + third / freedom**3


def _percentiles(estimate: float, draws: FloatArray) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(estimate, float(low), float(high))


def _ratio(means: FloatArray, spreads: FloatArray) -> FloatArray:
    """Mean over spread; 0 where nothing moved."""
    ratio: FloatArray = np.divide(means, spreads, out=np.zeros_like(means), where=spreads > 0.0)
    return ratio
