"""Is the best of many candidates better than a baseline: Hansen's SPA and White's reality check.

Both take **returns** (more is better). Pass losses as their negatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.bootstrap import automatic_block_bars, bar_counts
from tradingbot.evaluation.statistics.inputs import FloatArray, moves

MIN_BARS = 16
_CONSISTENT, _LOWER, _UPPER = 0, 1, 2


@dataclass(frozen=True)
class SuperiorAbility:
    """How surprising the best candidate is if none beats the baseline."""

    statistic: float
    """max over candidates of max(0, √T·mean ÷ error); unstudentised without the error."""
    p_lower: float
    """Assumes that poor candidates are as bad as they look; the smallest of the three."""
    p_consistent: float
    """Hansen's: the one to quote."""
    p_upper: float
    """Assumes all candidates as good as the baseline; unstudentised it is White's p-value."""
    best: int
    """Column of the candidate with the largest statistic."""
    n_candidates: int
    n_bars: int
    block_bars: float
    n_draws: int


def superior_ability(
    candidates: ArrayLike,
    baseline: ArrayLike,
    *,
    block_bars: float | None = None,
    n_draws: int = 2000,
    studentise: bool = True,
    seed: int = 0,
) -> SuperiorAbility:
    """Test whether any candidate earns more than a baseline, for the search among all of them.

    Args:
        candidates: (T, K) returns per bar of **every** candidate tried, not of the best ones.
        baseline: (T,) returns per bar on the same bars.
        block_bars: Mean block of the stationary bootstrap; from the differences by default.
        n_draws: Resampled histories.
        studentise: Divide each mean by its error, so that noisy candidates do not rule.
        seed: Root of the stream that draws.

    Returns:
        P-values of 1 where no candidate earns more than the baseline.

    Raises:
        DataError: If there are fewer than 16 bars, lengths differ, a number is not finite, or a
            candidate differs from the baseline by a constant.

    Source: Hansen, A Test for Superior Predictive Ability (2005).
    """
    gains = _differences(candidates, baseline)
    inputs.require_count(n_draws, "n_draws", at_least=100)
    length = automatic_block_bars(gains) if block_bars is None else block_bars
    if not 1.0 <= length <= len(gains):
        raise ConfigError("block_bars must lie between 1 and the number of bars", was=length)
    n_bars, means = len(gains), gains.mean(axis=0)
    error = np.sqrt(_long_run_variance(gains, length))
    alive = error > 0.0
    divisor = np.where(alive, error, 1.0) if studentise else np.ones_like(error)
    scores = math.sqrt(n_bars) * means / divisor
    statistic = max(0.0, float(scores.max()))
    bound = -error * math.sqrt(2.0 * math.log(math.log(n_bars)) / n_bars)
    centres = np.stack([np.where(means >= bound, means, 0.0), np.maximum(means, 0.0), means])
    counts = bar_counts(
        n_bars, block_bars=length, n_draws=n_draws, generator=stream(seed, "bootstrap", "superior")
    )
    drawn = np.concatenate([_maxima(count @ gains / n_bars, centres, divisor) for count in counts])
    # Ties count: where no candidate is better the statistic is 0, and so is many a draw's.
    p_values = (math.sqrt(n_bars) * drawn >= statistic).mean(axis=0)
    return SuperiorAbility(
        statistic=statistic,
        p_lower=float(p_values[_LOWER]),
        p_consistent=float(p_values[_CONSISTENT]),
        p_upper=float(p_values[_UPPER]),
        best=int(scores.argmax()),
        n_candidates=gains.shape[1],
        n_bars=n_bars,
        block_bars=float(length),
        n_draws=n_draws,
    )


def _differences(candidates: ArrayLike, baseline: ArrayLike) -> FloatArray:
    matrix = inputs.finite_matrix(candidates, "candidates", at_least=MIN_BARS)
    reference = inputs.finite_series(baseline, "baseline")
    inputs.same_length(matrix, reference, "candidates and baseline")
    gains = matrix - reference[:, None]
    stuck = np.flatnonzero(~moves(gains) & (gains[0] != 0.0))
    if len(stuck):
        rule = "a candidate must not differ from the baseline by a constant"
        raise DataError(rule, was=f"{gains[0, stuck[0]]:.6g}", where=f"column {stuck[0]}")
    return gains


def _long_run_variance(gains: FloatArray, block_bars: float) -> FloatArray:
    """Variance (K,) of √T·mean under the stationary bootstrap, by its own kernel."""
    n_bars = len(gains)
    deviations = gains - gains.mean(axis=0)
    # Autocovariances at all lags at once: padded, so that the transform does not wrap.
    spectrum = np.abs(np.fft.rfft(deviations, 2 * n_bars, axis=0)) ** 2
    covariances = np.fft.irfft(spectrum, axis=0)[:n_bars] / n_bars
    lag = np.arange(1, n_bars)
    ends = 1.0 / block_bars
    kernel = (1.0 - lag / n_bars) * (1.0 - ends) ** lag + lag / n_bars * (1.0 - ends) ** (
        n_bars - lag
    )
    variance = covariances[0] + 2.0 * (kernel[:, None] * covariances[1:]).sum(axis=0)
    return np.where(moves(gains), np.maximum(variance, np.finfo(np.float64).tiny), 0.0)


def _maxima(means: FloatArray, centres: FloatArray, divisor: FloatArray) -> FloatArray:
    """Largest recentred score of each draw (draws, 3), never below 0."""
    return np.stack(
        [np.maximum(((means - centre) / divisor).max(axis=1), 0.0) for centre in centres], axis=1
    )
