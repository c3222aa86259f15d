"""The stationary bootstrap: resampling dependent returns in blocks of random length.

Start anywhere, go on to the next bar with probability 1 − 1/b, wrap at the end. The length b is
chosen from the series itself (Politis & White) unless it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.domain.student_t import student_point
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.dependence import measure_dependence
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray, chunk_sizes, moves
from tradingbot.evaluation.statistics.interval import Interval, Z

Statistic = Callable[[FloatArray], FloatArray]
"""(draws, T) or (draws, T, N) → (draws,): one figure per resampled history, all at once."""
MIN_BARS = 8
_TOGETHER = 1 << 16
"""Numbers that are resampled at once: larger arrays are memory that is asked for anew each time."""


def automatic_block_bars(
    series: ArrayLike, *, kind: Literal["stationary", "circular"] = "stationary"
) -> float:
    """Return the block length that the dependence in a series asks for.

    Args:
        series: (T,), or (T, N) for the longest of N series; at least 8 bars.
        kind: Random block lengths (`stationary`) or fixed ones (`circular`).

    Returns:
        Bars, at least 1; 1 for a series that does not move.

    Source: Politis & White (2004), corrected by Patton, Politis & White (2009).
    """
    if kind not in ("stationary", "circular"):
        raise ConfigError("kind must be 'stationary' or 'circular'", was=repr(kind))
    numbers = np.asarray(series, dtype=np.float64)
    columns = numbers[:, None] if numbers.ndim == 1 else numbers
    matrix = inputs.finite_matrix(columns, "series", at_least=MIN_BARS)
    constant = 2.0 if kind == "stationary" else 4.0 / 3.0
    lengths = [_block_bars(column, constant) for column in matrix.T[moves(matrix)]]
    return max(lengths, default=1.0)


def stationary_indices(
    n_bars: int, *, block_bars: float, n_draws: int, generator: np.random.Generator
) -> IntArray:
    """Draw (n_draws, T) positions on the time axis.

    Args:
        n_bars: T.
        block_bars: Mean length of a block, at least 1; 1 is the ordinary bootstrap.
        n_draws: Resampled histories.
        generator: Of a named stream.
    """
    inputs.require_count(n_bars, "n_bars")
    inputs.require_count(n_draws, "n_draws")
    return _positions(*_draw_blocks(n_bars, n_draws, generator), block_bars)


def _draw_blocks(
    n_bars: int, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Draw (n_draws, T) whether a block begins, in [0, 1), and where in the series it would."""
    shape = (n_draws, n_bars)
    return generator.random(shape), generator.integers(0, n_bars, shape)


def _positions(chance: FloatArray, start: IntArray, block_bars: float) -> IntArray:
    """Lay blocks of a mean length one after another, (n_draws, T)."""
    if not 1.0 <= block_bars < math.inf:
        raise ConfigError("block_bars must be 1 or more", was=block_bars)
    n_bars = chance.shape[1]
    begins = chance < 1.0 / block_bars
    begins[:, 0] = True
    # Within a block the place in the history and that in the series keep their distance.
    first = np.flatnonzero(begins)
    distance = start.ravel()[first] - first % n_bars
    block = np.cumsum(begins.ravel(), dtype=np.int64) - 1
    drawn: IntArray = distance[block].reshape(chance.shape)
    drawn += np.arange(n_bars)
    np.subtract(drawn, n_bars, out=drawn, where=drawn >= n_bars)
    return drawn


def bar_counts(
    n_bars: int, *, block_bars: float, n_draws: int, generator: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield how often each bar was drawn, (draws, T) at a time: `counts @ x / T` is a mean."""
    for size in chunk_sizes(n_draws, n_bars):
        drawn = stationary_indices(n_bars, block_bars=block_bars, n_draws=size, generator=generator)
        flat = (drawn + np.arange(size)[:, None] * n_bars).ravel()
        counts = np.bincount(flat, minlength=size * n_bars).reshape(size, n_bars)
        yield counts.astype(np.float64)


def bootstrap_draws(
    series: ArrayLike,
    statistic: Statistic,
    *,
    block_bars: float | None = None,
    n_draws: int = 2000,
    seed: int = 0,
) -> FloatArray:
    """Return a statistic of resampled histories, (n_draws,).

    Args:
        series: (T,), or (T, N) whose columns are resampled together; at least 8 bars.
        statistic: Of many histories at once; see `mean_of`, `sharpe_of`.
        block_bars: Mean block length; chosen from the series by default.
        n_draws: Histories.
        seed: Root of the stream that draws them.
    """
    numbers = _history(series)
    length = automatic_block_bars(numbers) if block_bars is None else block_bars
    sizes = tuple(chunk_sizes(inputs.require_count(n_draws, "n_draws"), numbers.size))
    some = max(1, _TOGETHER // numbers.size)
    return np.concatenate(
        [
            statistic(numbers[_positions(chance[at : at + some], start[at : at + some], length)])
            for chance, start in _blocks_of(seed, len(numbers), sizes)
            for at in range(0, len(chance), some)
        ]
    )


def _blocks_of(
    seed: int, n_bars: int, sizes: tuple[int, ...]
) -> Iterable[tuple[FloatArray, IntArray]]:
    """Yield what the histories of every series of T bars are drawn by, some at a time."""
    if len(sizes) == 1:
        return (_kept_blocks(seed, n_bars, sizes[0]),)
    generator = stream(seed, "bootstrap", "stationary")
    return (_draw_blocks(n_bars, size, generator) for size in sizes)


@lru_cache(maxsize=1)
def _kept_blocks(seed: int, n_bars: int, n_draws: int) -> tuple[FloatArray, IntArray]:
    """Draw once for all intervals on the same bars: drawing takes as long as all else."""
    return _draw_blocks(n_bars, n_draws, stream(seed, "bootstrap", "stationary"))


def bootstrap_interval(
    series: ArrayLike,
    statistic: Statistic,
    *,
    block_bars: float | None = None,
    n_draws: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return a statistic with its percentile interval by the stationary bootstrap, widened.

    Cutting a history into blocks loses dependence at every cut, and few blocks know little of how
    far a mean moves: percentiles alone cover 84 … 94 % where 95 % is meant. So the draws' distances
    from the estimate are multiplied by `widening`, within the farthest draws.

    Arguments are those of `bootstrap_draws`, and the confidence of the interval.

    Returns:
        Ends are NaN where the statistic is not defined for every resampled history: then the
        series holds too little to be sure of anything.
    """
    numbers = _history(series)
    length = automatic_block_bars(numbers) if block_bars is None else block_bars
    draws = bootstrap_draws(numbers, statistic, block_bars=length, n_draws=n_draws, seed=seed)
    estimate = float(statistic(numbers[None])[0])
    wide = estimate + widening(numbers, length) * (draws - estimate)
    wide = np.clip(wide, draws.min(), draws.max())
    return percentile_interval(estimate, wide, confidence)


def widening(series: ArrayLike, block_bars: float) -> float:
    """Return by what the stationary bootstrap's distances from its estimate are too short.

    The standard error of the mean by the series' own long-run variance ÷ the bootstrap's (at least
    1), times Student's point ÷ the normal one for as many separate stretches as the series has.

    Args:
        series: (T,), or (T, N) for the largest of N.
        block_bars: Mean length of a block.

    Source: variance of the stationary bootstrap by Politis & Romano (1994); flat-top long-run
    variance by Politis & White (2004).
    """
    numbers = _history(series)
    columns = numbers[:, None] if numbers.ndim == 1 else numbers
    return max((_widening(each, block_bars) for each in columns.T[moves(columns)]), default=1.0)


def _widening(series: FloatArray, block_bars: float) -> float:
    found, count = measure_dependence(series), len(series)
    lags = np.arange(1, len(found.covariance))
    kept = (1.0 - lags / count) * (1.0 - 1.0 / block_bars) ** lags
    drawn = found.covariance[0] + 2.0 * float((kept * found.covariance[1:]).sum())
    ratio = math.sqrt(max(1.0, found.long_run / drawn)) if drawn > 0.0 else 1.0
    return ratio * student_point(Z, count / found.window_bars - 1.0) / Z


def percentile_interval(estimate: float, draws: FloatArray, confidence: float) -> Interval:
    """Return an estimate between the quantiles of its draws, as many beyond either end.

    Raises:
        ConfigError: If the confidence does not lie between 0 and 1.
    """
    tail = (1.0 - inputs.require_share(confidence, "confidence")) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    return Interval(estimate, float(low), float(high))


def mean_of(histories: FloatArray) -> FloatArray:
    """Return the mean over time of (draws, T) histories."""
    return np.asarray(histories.mean(axis=1))


def sharpe_of(histories: FloatArray) -> FloatArray:
    """Return the Sharpe ratio per bar (T − 1) of (draws, T) histories; NaN where nothing moves."""
    means, spread = histories.mean(axis=1), histories.std(axis=1, ddof=1)
    moving = histories.max(axis=1) != histories.min(axis=1)
    undefined = np.full(len(histories), np.nan)
    return np.asarray(np.divide(means, spread, out=undefined, where=moving))


def _history(series: ArrayLike) -> FloatArray:
    check = inputs.finite_matrix if np.ndim(series) == 2 else inputs.finite_series
    return check(series, "series", at_least=MIN_BARS)


def _block_bars(series: FloatArray, constant: float) -> float:
    """Return ((2g² ÷ d)·n)^⅓, with a flat-top window whose width the correlogram decides."""
    count = len(series)
    found = measure_dependence(series)
    trend, long_run = found.trend, found.long_run
    longest = float(math.ceil(min(3.0 * math.sqrt(count), count / 3.0)))
    if not long_run**2 > 0.0:
        return longest  # what cancels out over time needs blocks in which it can
    length = float((2.0 * trend**2 / (constant * long_run**2) * count) ** (1.0 / 3.0))
    return max(1.0, min(length, longest))
