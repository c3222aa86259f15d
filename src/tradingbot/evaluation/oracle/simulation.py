"""Playing target positions against bars, and 95 % intervals of what they earn.

Decide at close t, fill at open t+1, mark at close t+1. Capital per symbol is fixed: returns are
added, never compounded, so the mean is bp per bar and symbol.

Intervals of a mean and a Sharpe ratio respect how returns hang together. Where symbols are
independent each is one replicate, whatever its own autocorrelation. Where they share factors,
histories of all symbols together are drawn by the stationary bootstrap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.domain.student_t import student_point
from tradingbot.evaluation.oracle.action_rule import require_cost
from tradingbot.evaluation.statistics.bootstrap import automatic_block_bars, bar_counts
from tradingbot.evaluation.statistics.interval import Interval, Z
from tradingbot.evaluation.statistics.policy_intervals import DRAWS

FloatArray = NDArray[np.float64]


def simulate_targets(
    opens: FloatArray, closes: FloatArray, targets: FloatArray, *, cost_frac: float
) -> FloatArray:
    """Compute the net simple return of each bar for positions decided one close earlier.

    The position held into bar t earns the gap from close t-1 to open t; there it is changed to
    `targets[t-1]`, pays for the change, and the new position earns open to close.

    Args:
        opens: (T, N) opening prices, > 0.
        closes: (T, N) closing prices, > 0.
        targets: (T, N) position as a fraction of capital, decided at close t, finite.
        cost_frac: Cost per unit of turnover.

    Returns:
        (T, N) net simple return of bar t. Row 0 is 0: nothing was decided before it. The last
        row of `targets` has no bar to act on and is ignored.

    Raises:
        DataError: If shapes differ, a price is not positive or a target is not finite.
    """
    require_cost(cost_frac)
    if not opens.shape == closes.shape == targets.shape or opens.ndim != 2:
        raise DataError(
            "opens, closes and targets must share one (T, N) shape",
            was=f"{opens.shape}, {closes.shape}, {targets.shape}",
        )
    if not (np.all(opens > 0.0) and np.all(closes > 0.0) and np.all(np.isfinite(targets))):
        raise DataError(
            "prices must be positive and targets finite", was="a price ≤ 0, a gap or a NaN target"
        )
    held = held_positions(targets)
    before = np.vstack([np.zeros_like(held[:1]), held[:-1]])
    gaps = np.vstack([np.zeros_like(opens[:1]), opens[1:] / closes[:-1] - 1.0])
    net: FloatArray = before * gaps + held * (closes / opens - 1.0)
    net -= cost_frac * np.abs(held - before)
    return net


def held_positions(targets: FloatArray) -> FloatArray:
    """Positions held from open t to close t: the targets of one bar earlier, flat at first."""
    return np.vstack([np.zeros_like(targets[:1]), targets[:-1]])


def mean_turnover(targets: FloatArray) -> float:
    """Mean absolute change of position per bar and symbol, over bars 1..T-1."""
    return float(np.abs(np.diff(held_positions(targets), axis=0)).mean())


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
    half = student_point(Z, count - 1) * float(replicates.std(ddof=1)) / math.sqrt(count)
    return Interval(centre, centre - half, centre + half)


def _percentiles(estimate: float, draws: FloatArray) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(estimate, float(low), float(high))


def _ratio(means: FloatArray, spreads: FloatArray) -> FloatArray:
    """Mean over spread; 0 where nothing moved."""
    return np.asarray(np.divide(means, spreads, out=np.zeros_like(means), where=spreads > 0.0))
