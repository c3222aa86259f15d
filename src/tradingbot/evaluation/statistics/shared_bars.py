"""Figures over trainings that were judged on the same bars: luck of the seeds and luck of the bars.

Seeds that trade one test part share its luck: however many there are, their mean knows no more of
the truth than those bars tell. So both are resampled: bars in blocks, the same for all seeds, and
seeds with replacement.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.seeding import stream
from tradingbot.domain.student_t import student_point
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.aggregates import Aggregate, aggregate_of
from tradingbot.evaluation.statistics.bootstrap import (
    MIN_BARS,
    Statistic,
    automatic_block_bars,
    mean_of,
    percentile_interval,
    stationary_indices,
    widening,
)
from tradingbot.evaluation.statistics.inputs import FloatArray, chunk_sizes
from tradingbot.evaluation.statistics.interval import Interval, Z

_FEWEST_TRIMMED = 4
"""Runs of which an interquartile mean leaves some out."""


def runs_interval(
    histories: ArrayLike,
    statistic: Statistic = mean_of,
    aggregate: Aggregate = "iqm",
    *,
    n_draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return an aggregate over runs of a statistic over bars, with its 95 % interval.

    Args:
        histories: (R, T) returns of R runs over the same T bars, at least two and eight.
        statistic: Of the bars of one run; where it is not defined, it counts as 0.
        aggregate: Of the runs.
        n_draws: Resampled sets of runs and bars.
        seed: Root of the streams that draw.

    Few runs know little of how much runs differ: distances between them are widened by Student's
    point and √(R ÷ (R − 1)). Draws of a trimmed mean are wide already: there the root of Student's
    point does (coverage by simulation: `benchmarks/interval_coverage.py`).
    """
    runs = inputs.finite_matrix(histories, "histories", at_least=2)
    inputs.finite_series(runs[0], "histories", at_least=MIN_BARS)
    count, over = len(runs), partial(_defined, statistic)
    shared = runs.mean(axis=0)
    block_bars = automatic_block_bars(shared)
    scores = np.concatenate([over(run[None]) for run in runs])
    luck = widening(shared, block_bars) * (
        _resampled_bars(runs, over, block_bars, n_draws, seed) - scores
    )
    measure = aggregate_of(aggregate)
    centre = float(measure(scores[None, :, None])[0])
    point = student_point(Z, count - 1) / Z
    trims = aggregate == "iqm" and count >= _FEWEST_TRIMMED
    spread = math.sqrt(point) if trims else point * math.sqrt(count / (count - 1))
    # A share of the runs has no place among the scores that it counts.
    middle = float(scores.mean()) if aggregate == "positive" else centre
    wide = middle + spread * _true_share(scores, luck) * (scores - middle)
    picked = stream(seed, "bootstrap", "runs").integers(0, count, (n_draws, count))
    drawn = wide[picked] + np.take_along_axis(luck, picked, axis=1)
    return percentile_interval(centre, measure(drawn[:, :, None]), 0.95)


def _true_share(scores: FloatArray, luck: FloatArray) -> float:
    """Return which share of the distance between runs (R,) is not the luck of bars (draws, R).

    That luck is drawn already, with the bars; it must not count twice.
    """
    between = float(scores.var(ddof=1))
    own = luck - luck.mean(axis=1, keepdims=True)
    noise = float(own.var(axis=0).mean()) * len(scores) / (len(scores) - 1)
    return math.sqrt(max(0.0, 1.0 - noise / between)) if between > 0.0 else 0.0


def _resampled_bars(
    runs: FloatArray, over: Statistic, block_bars: float, n_draws: int, seed: int
) -> FloatArray:
    """Return the statistic of every run (draws, R) in histories whose bars are the same for all."""
    generator, n_bars = stream(seed, "bootstrap", "stationary"), runs.shape[1]
    sizes = chunk_sizes(inputs.require_count(n_draws, "n_draws"), n_bars)
    draw = partial(stationary_indices, n_bars, block_bars=block_bars, generator=generator)
    parts = []
    for size in sizes:
        places = draw(n_draws=size)
        parts.append(np.stack([over(run[places]) for run in runs], axis=1))
    return np.concatenate(parts)


def _defined(statistic: Statistic, histories: FloatArray) -> FloatArray:
    return np.asarray(np.nan_to_num(statistic(histories), nan=0.0))
