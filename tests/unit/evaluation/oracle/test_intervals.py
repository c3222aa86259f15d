"""Intervals cover the truth as often as they say, and know what hangs together."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.synthetic.linear_bars import draw_ar1
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.oracle.simulation import (
    intervals_over_symbols,
    intervals_over_time,
)
from tradingbot.evaluation.statistics.interval import Interval


def test_symbol_interval_covers_the_mean_despite_autocorrelation():
    rng = np.random.default_rng(1)
    hits = [
        intervals_over_symbols(draw_ar1(rng, (300, 12), phi=0.9) + 0.2)[0].covers(0.2)
        for _ in range(300)
    ]

    assert 0.91 <= np.mean(hits) <= 0.98


def test_interval_over_time_covers_the_mean_despite_shared_moves():
    rng = np.random.default_rng(2)
    hits = []
    for seed in range(80):
        common = draw_ar1(rng, (1200, 1), phi=0.8)
        returns = common + rng.standard_normal((1200, 5)) + 0.1
        hits.append(intervals_over_time(returns, seed=seed)[0].covers(0.1))

    assert 0.85 <= np.mean(hits) <= 0.99


def test_symbols_that_move_together_are_not_replicates():
    rng = np.random.default_rng(3)
    common = rng.standard_normal((2100, 1)) + 0.01 * rng.standard_normal((2100, 20))

    naive, honest = intervals_over_symbols(common)[0], intervals_over_time(common)[0]

    assert honest.high - honest.low > 20 * (naive.high - naive.low)


def test_sharpe_interval_covers_the_truth():
    rng = np.random.default_rng(4)
    hits = [
        intervals_over_symbols(0.05 + rng.standard_normal((200, 20)))[1].covers(0.05)
        for _ in range(200)
    ]

    assert 0.9 <= np.mean(hits) <= 0.99


def test_returns_that_never_move_have_zero_sharpe():
    mean, sharpe = intervals_over_symbols(np.zeros((50, 10)))

    assert mean == sharpe == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "interval",
    [
        lambda: intervals_over_symbols(np.zeros((100, 7))),
        lambda: intervals_over_time(np.zeros((7, 20))),
    ],
)
def test_too_few_replicates_are_refused(interval):
    with pytest.raises(DataError, match="8"):
        interval()
