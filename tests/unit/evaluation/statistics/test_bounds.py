"""Statistics at the bounds of what they accept, and figures that small samples show whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.data.folds import combinatorial_purged
from tradingbot.data.splits import Gap
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import (
    aggregates,
    bootstrap,
    deflation,
    overfitting,
    paths,
    policy_intervals,
    sharpe,
    superior,
)

NOISE = np.random.default_rng(5).standard_normal((200, 4)) * 0.01


# Draws


@pytest.mark.parametrize("n_draws", [1, 37])
def test_there_are_as_many_draws_as_asked_for(n_draws: int) -> None:
    draws = bootstrap.bootstrap_draws(NOISE[:, 0], bootstrap.mean_of, n_draws=n_draws)
    assert draws.shape == (n_draws,)
    generator = np.random.default_rng(0)
    counts = [*bootstrap.bar_counts(9, block_bars=3.0, n_draws=n_draws, generator=generator)]
    assert sum(map(len, counts)) == n_draws
    assert (np.concatenate(counts).sum(axis=1) == 9).all()


def test_interval_of_a_policy_needs_eight_bars() -> None:
    assert policy_intervals.interval_of(NOISE[:8, 0]).estimate == pytest.approx(NOISE[:8, 0].mean())
    with pytest.raises(DataError, match="must rest on 8 bars or more, was 7"):
        policy_intervals.interval_of(NOISE[:7, 0])


# Sharpe ratios


def test_moments_are_those_of_their_definition() -> None:
    series = np.array([0.0, 0.0, 0.0, 4.0, 1.0])
    scores = (series - 1.0) / math.sqrt(((series - 1.0) ** 2).mean())
    found = sharpe.measure_sharpe(series)
    assert found.skew == pytest.approx((scores**3).mean())
    assert found.kurtosis == pytest.approx((scores**4).mean())


def test_kurtosis_of_two_points_is_the_least_there_is() -> None:
    # A coin that is not fair: kurtosis is 1 + skew² exactly, and rounding may miss it by a little.
    coin = sharpe.measure_sharpe([1.0, 1.0, 1.0, -1.0] * 5)
    assert coin.kurtosis == pytest.approx(1.0 + coin.skew**2)
    shape = {"skew": coin.skew, "kurtosis": coin.kurtosis}
    assert sharpe.probabilistic_sharpe(0.1, n_bars=20, **shape) > 0.5
    with pytest.raises(DataError, match="at least 1"):
        sharpe.sharpe_error(0.1, n_bars=20, skew=1.0, kurtosis=1.999)


def test_track_record_of_what_is_not_defined_is_not_defined() -> None:
    assert math.isnan(sharpe.min_track_record(0.1, skew=math.nan))
    assert math.isnan(sharpe.min_track_record(math.nan, variant="null"))
    with pytest.raises(ConfigError, match="'classic' or 'null'"):
        sharpe.min_track_record(0.1, variant="bayes")  # type: ignore[arg-type]


def test_miss_of_a_ratio_without_error_is_not_defined() -> None:
    # Skew 2 and kurtosis 5 leave a ratio of 1 no variance.
    assert math.isnan(sharpe.miss_probability(n_bars=50, skew=2.0, kurtosis=5.0, alternative=1.0))


def test_annualisation_takes_autocorrelations_up_to_one() -> None:
    assert sharpe.annualisation_factor(2, [1.0]) == pytest.approx(1.0)  # the same return twice
    assert sharpe.annualisation_factor(12, [-0.25]) > math.sqrt(12)
    for rho in (1.1, -1.0):
        with pytest.raises(DataError, match="yearly variance"):
            sharpe.annualisation_factor(2, [rho])


# Trials


@pytest.mark.parametrize(("rho", "expected"), [(1.0, 1.0), (-1.0, 7.0), (0.0, 7.0)])
def test_effective_trials_at_the_ends_of_correlation(rho: float, expected: float) -> None:
    assert deflation.effective_trials(rho, 7) == expected
    assert deflation.effective_trials(rho, 1) == 1.0


@pytest.mark.parametrize("rho", [1.1, -1.1, math.nan])
def test_correlation_beyond_one_is_refused(rho: float) -> None:
    with pytest.raises(ConfigError, match="mean_correlation within"):
        deflation.effective_trials(rho, 7)


def test_two_bars_are_enough_for_a_correlation() -> None:
    assert deflation.mean_correlation([[0.0, 1.0], [1.0, 0.0]]) == pytest.approx(-1.0)
    with pytest.raises(DataError, match="2 rows or more"):
        deflation.mean_correlation([[0.0, 1.0]])


def test_trials_that_do_not_vary_deflate_nothing() -> None:
    assert deflation.deflated_target(trial_variance=0.0, n_trials=50) == 0.0
    with pytest.raises(DataError, match="trial_variance"):
        deflation.deflated_target(trial_variance=math.inf, n_trials=50)


def test_fewest_and_most_blocks_are_accepted() -> None:
    found = overfitting.backtest_overfitting(NOISE, n_blocks=2)
    assert (found.n_splits, found.n_trials, found.n_bars) == (2, 4, 200)
    assert math.isnan(overfitting.backtest_overfitting(np.zeros((8, 2)), n_blocks=2).slope)
    with pytest.raises(DataError, match="40 rows or more"):
        overfitting.backtest_overfitting(NOISE[:39], n_blocks=20)


# Superior ability


def plain_error(gains: np.ndarray, block_bars: float) -> float:
    """Root of the variance of √T·mean, lag by lag."""
    count, ends = len(gains), 1.0 / block_bars
    deviation = gains - gains.mean()
    variance = deviation @ deviation / count
    for lag in range(1, count):
        near = (1.0 - lag / count) * (1.0 - ends) ** lag
        far = lag / count * (1.0 - ends) ** (count - lag)
        variance += 2.0 * (near + far) * (deviation[lag:] @ deviation[:-lag]) / count
    return math.sqrt(variance)


@pytest.mark.parametrize("block_bars", [1.0, 5.0])
def test_superior_ability_divides_by_the_error_of_each_mean(block_bars: float) -> None:
    gains = NOISE[:40] + np.array([0.001, 0.002, -0.02, 0.0])
    found = superior.superior_ability(gains, np.zeros(40), block_bars=block_bars, n_draws=100)
    scores = [math.sqrt(40) * column.mean() / plain_error(column, block_bars) for column in gains.T]
    assert found.statistic == pytest.approx(max(scores))
    assert found.best == int(np.argmax(scores))


def test_three_values_differ_by_how_poor_candidates_are_centred() -> None:
    # The last is hopeless, the second only looks poor: the bound of Hansen lies between them.
    gains = NOISE[:, :3] - NOISE[:, :3].mean(axis=0) + 0.01 * np.array([0.06, -0.08, -3.0])
    found = superior.superior_ability(gains, np.zeros(200), block_bars=1.0, n_draws=2000)
    hopeless_is_left_out = superior.superior_ability(
        gains[:, :2], np.zeros(200), block_bars=1.0, n_draws=2000
    )
    assert found.p_lower < found.p_consistent < found.p_upper
    assert found.p_consistent == hopeless_is_left_out.p_upper


# Runs and tasks


def test_profile_is_the_share_above_each_threshold() -> None:
    scores = [[0.1, 0.5], [0.2, 0.6], [0.3, 0.5]]
    profile = aggregates.performance_profile(scores, [0.0, 0.2, 0.5, 0.6])
    assert profile == pytest.approx([1.0, 4 / 6, 1 / 6, 0.0])


def test_one_run_of_one_task_is_enough_for_a_figure() -> None:
    assert aggregates.interquartile_mean([[0.7]]) == 0.7
    assert aggregates.optimality_gap([[0.7]]) == pytest.approx(0.3)
    assert aggregates.performance_profile([[0.7]], [0.5]).tolist() == [1.0]
    assert aggregates.probability_of_improvement([[0.7]], [[0.5]]) == 1.0


def test_improvement_counts_pairs_of_uneven_sides() -> None:
    others = [[0.2], [0.3], [0.4]]
    assert aggregates.probability_of_improvement([[0.1], [0.9]], others) == 0.5
    assert aggregates.probability_of_improvement([[0.35], [0.9]], others) == pytest.approx(5 / 6)


# Paths


def test_paths_that_do_not_move_count_as_losing_and_have_no_spread() -> None:
    folds = combinatorial_purged(40, blocks=4, test_blocks=2, gap=Gap(0, 0, 0))
    returns = np.zeros((6, 40))
    one = np.where(np.arange(40) % 2, 0.02, -0.01)
    for split, (fold, ids) in enumerate(zip(folds.folds, folds.path_ids, strict=True)):
        for test, path in zip(fold.tests, ids, strict=True):
            if path == 1:
                returns[split, test.start : test.stop] = one[test.start : test.stop]
    found = paths.path_sharpes(folds, returns)
    assert found.negative_frac == pytest.approx(2 / 3)  # of three paths, one gains
    assert found.low == found.median == found.high == pytest.approx(sharpe.sharpe_ratio(one))
    assert math.isnan(found.spread)
