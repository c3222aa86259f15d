"""One policy has one interval: the same function, draws and seed wherever it is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.bootstrap import bootstrap_interval, mean_of, sharpe_of
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import (
    DRAWS,
    interval_of,
    net_bps_interval,
    sharpe_interval,
)

RETURNS = 2e-4 + 1e-3 * np.random.default_rng(3).standard_normal((300, 4))


def test_it_is_the_stationary_bootstrap_of_the_portfolio() -> None:
    series = RETURNS.mean(axis=1)

    assert interval_of(series) == bootstrap_interval(series, mean_of, n_draws=DRAWS, seed=0)
    assert net_bps_interval(series) == interval_of(series).scaled(1e4)
    assert sharpe_interval(series, 1764.0) == interval_of(series, sharpe_of).scaled(42.0)


def test_sleeves_and_their_mean_have_the_same_interval() -> None:
    assert net_bps_interval(RETURNS) == net_bps_interval(RETURNS.mean(axis=1))


@pytest.mark.parametrize("value", [0.0, 2e-4])
def test_what_never_moves_is_certain_and_has_no_ratio(value: float) -> None:
    still = np.full(20, value)

    assert interval_of(still) == Interval(still.mean(), still.mean(), still.mean())
    assert sharpe_interval(still, 1764.0) == Interval(0.0, 0.0, 0.0)


def test_histories_without_a_trade_have_no_ratio_rather_than_no_interval() -> None:
    rare = np.zeros(40)
    rare[5] = 0.01

    found = sharpe_interval(rare, 1764.0)

    assert 0.0 == found.low < found.estimate < found.high


def test_too_few_bars_and_what_is_no_number_are_refused() -> None:
    with pytest.raises(DataError, match="8"):
        interval_of(np.zeros(7))
    with pytest.raises(DataError):
        interval_of(np.array([*RETURNS[:9, 0], math.nan]))


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_sharpe_and_mean_are_covered_as_often_as_stated(rho: float) -> None:
    generator, hits = np.random.default_rng(5), np.zeros(2)
    for _ in range(100):
        noise = generator.standard_normal(520)
        for bar in range(1, 520):
            noise[bar] += rho * noise[bar - 1]
        series = 0.05 + noise[20:]
        deviation = 1.0 / math.sqrt(1.0 - rho**2)
        hits += [
            interval_of(series).covers(0.05),
            interval_of(series, sharpe_of).covers(0.05 / deviation),
        ]

    assert hits / 100 == pytest.approx(0.93, abs=0.06), hits
