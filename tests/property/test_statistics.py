"""Statistics and metrics of any series: in their range, and blind to what must not matter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tradingbot.evaluation.metrics import registry, trading
from tradingbot.evaluation.metrics import returns as return_metrics
from tradingbot.evaluation.statistics import (
    aggregates,
    bootstrap,
    deflation,
    hac,
    overfitting,
    superior,
)
from tradingbot.evaluation.statistics import sharpe as sharpe_ratios

returns = arrays(
    np.float64,
    st.integers(4, 40),
    elements=st.floats(-1.0, 2.0, allow_nan=False, allow_subnormal=True),
)
seeds = st.integers(0, 10_000)


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape) * 0.01


@given(series=returns)
@settings(max_examples=60, deadline=None)
def test_inference_on_any_returns_is_a_probability_or_undefined(series: np.ndarray) -> None:
    sample = vars(sharpe_ratios.measure_sharpe(series))
    for variant in ("classic", "null"):
        probability = sharpe_ratios.probabilistic_sharpe(**sample, variant=variant)
        assert math.isnan(probability) or 0.0 <= probability <= 1.0
    deflated = deflation.deflated_sharpe(**sample, trial_variance=0.01, n_trials=50)
    assert math.isnan(deflated) or deflated <= sharpe_ratios.probabilistic_sharpe(**sample)


@given(series=returns)
@settings(max_examples=60, deadline=None)
def test_metrics_of_any_returns_keep_their_range(series: np.ndarray) -> None:
    figures = registry.measure(
        registry.PerformanceSeries(series, 1764, reference=series[::-1], trade_pnl=series)
    )

    assert not any(math.isinf(figure) for figure in figures.values())
    assert figures["total_return"] >= -1.0
    assert 0.0 <= figures["max_drawdown"] <= 1.0
    assert 0.0 <= figures["max_drawdown_bars"] <= len(series)
    assert figures["value_at_risk"] <= figures["expected_shortfall"] + 1e-12
    assert figures["annual_volatility"] >= 0.0


@given(seed=seeds, scale=st.floats(1e-6, 1e3))
@settings(max_examples=30, deadline=None)
def test_ratios_do_not_see_the_scale(seed: int, scale: float) -> None:
    series = noise(seed, 60)
    for measure in (
        sharpe_ratios.sharpe_ratio,
        lambda x: sharpe_ratios.measure_sharpe(x).kurtosis,
        lambda x: return_metrics.annual_sortino(x, bars_per_year=252),
        trading.profit_factor,
        lambda x: hac.mean_error(x) / float(np.abs(x).max()),
        bootstrap.automatic_block_bars,
    ):
        assert measure(series * scale) == pytest.approx(measure(series), rel=1e-6)


@given(seed=seeds, sharpe=st.floats(0.01, 0.3))
@settings(max_examples=30, deadline=None)
def test_longer_record_and_fewer_trials_prove_more(seed: int, sharpe: float) -> None:
    lengths = [sharpe_ratios.probabilistic_sharpe(sharpe, n_bars=n) for n in (20, 100, 500)]
    trials = [
        deflation.deflated_sharpe(sharpe, n_bars=500, trial_variance=0.002, n_trials=n)
        for n in (1, 10, 100)
    ]

    assert lengths == sorted(lengths)
    assert trials == sorted(trials, reverse=True)
    proved = sharpe_ratios.min_track_record(sharpe)
    assert sharpe_ratios.probabilistic_sharpe(sharpe, n_bars=math.ceil(proved) + 4) >= 0.95


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_order_of_trials_runs_and_candidates_does_not_matter(seed: int) -> None:
    matrix = noise(seed, 64, 6)
    order = np.random.default_rng(seed).permutation(6)

    one, two = (
        overfitting.backtest_overfitting(each, n_blocks=6) for each in (matrix, matrix[:, order])
    )
    assert one.pbo == two.pbo
    assert one.slope == pytest.approx(two.slope)
    first, second = (
        superior.superior_ability(each, np.zeros(64), block_bars=3, n_draws=100)
        for each in (matrix, matrix[:, order])
    )
    assert first.statistic == pytest.approx(second.statistic)
    assert first.p_consistent == pytest.approx(second.p_consistent, abs=0.011)
    assert first.p_lower <= first.p_consistent <= first.p_upper
    assert order[second.best] == first.best
    shuffled = np.random.default_rng(seed).permutation(matrix)
    assert aggregates.interquartile_mean(shuffled) == pytest.approx(
        aggregates.interquartile_mean(matrix)
    )


@given(seed=seeds, shift=st.floats(-1.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_improvement_of_one_is_the_loss_of_the_other(seed: int, shift: float) -> None:
    mine, theirs = noise(seed, 5, 3), noise(seed + 1, 4, 3) + 0.01 * shift

    forth = aggregates.probability_of_improvement(mine, theirs)
    back = aggregates.probability_of_improvement(theirs, mine)
    assert forth + back == pytest.approx(1.0)
