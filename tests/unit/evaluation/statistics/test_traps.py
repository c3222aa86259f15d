"""Mistakes that statistics of trading invite: each is refused, or answered by a stated rule."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tradingbot.data.folds import combinatorial_purged
from tradingbot.data.splits import Gap
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import (
    aggregates,
    bootstrap,
    deflation,
    hac,
    multiple,
    overfitting,
    paths,
    sharpe,
    superior,
)

NOISE = np.random.default_rng(5).standard_normal((200, 4)) * 0.01
SERIES = NOISE[:, 0]


def with_nan(numbers: np.ndarray, number: float = math.nan) -> np.ndarray:
    spoilt = numbers.copy()
    spoilt[(17, *[0] * (numbers.ndim - 1))] = number
    return spoilt


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "measure",
    [
        sharpe.sharpe_ratio,
        sharpe.measure_sharpe,
        bootstrap.automatic_block_bars,
        hac.mean_interval,
        hac.mean_error,
        lambda x: bootstrap.bootstrap_interval(x, bootstrap.mean_of),
        lambda x: hac.difference_interval(SERIES, x),
        lambda x: superior.superior_ability(NOISE, x),
        lambda x: overfitting.backtest_overfitting(np.stack([x, SERIES], axis=1)),
        lambda x: aggregates.interquartile_mean(x[:, None]),
        lambda x: aggregates.aggregate_interval(x[:, None]),
        lambda x: deflation.mean_correlation(np.stack([x, SERIES], axis=1)),
        lambda x: aggregates.probability_of_improvement(x[:, None], x[:, None]),
    ],
)
def test_number_that_is_not_finite_is_refused_with_its_place(
    measure: Callable[[np.ndarray], object], bad: float
) -> None:
    with pytest.raises(DataError, match=r"must be finite, was -?(nan|inf) at 17"):
        measure(with_nan(SERIES, bad))


def test_nan_column_is_named() -> None:
    spoilt = NOISE.copy()
    spoilt[:, 2] = math.nan
    with pytest.raises(DataError, match="nan at 0, 2"):
        overfitting.backtest_overfitting(spoilt)


# Sharpe ratios


@pytest.mark.parametrize("returns", [[], [0.01], [0.0] * 9, [0.1] * 9, [1e-300] * 9])
def test_sharpe_ratio_without_spread_is_nan_not_infinite(returns: list[float]) -> None:
    assert math.isnan(sharpe.sharpe_ratio(returns))
    sample = sharpe.measure_sharpe(returns)
    assert sample.n_bars == len(returns)
    assert math.isnan(sample.skew)
    assert math.isnan(sample.kurtosis)


def test_spread_of_rounding_is_no_spread() -> None:
    assert 0.3 != 0.1 + 0.2
    assert math.isnan(sharpe.sharpe_ratio([0.3, 0.1 + 0.2] * 10))


def test_sharpe_ratio_of_tiny_returns_does_not_vanish() -> None:
    assert sharpe.sharpe_ratio(SERIES * 1e-200) == pytest.approx(sharpe.sharpe_ratio(SERIES))


def test_moments_of_tiny_returns_do_not_vanish() -> None:
    mine, tiny = sharpe.measure_sharpe(SERIES), sharpe.measure_sharpe(SERIES * 1e-120)
    assert (tiny.skew, tiny.kurtosis) == pytest.approx((mine.skew, mine.kurtosis))


def test_sharpe_ratio_divides_by_one_less_than_the_bars() -> None:
    assert sharpe.sharpe_ratio([0.0, 0.02]) == pytest.approx(0.01 / math.sqrt(2e-4))
    assert bootstrap.sharpe_of(np.array([[0.0, 0.02]])) == pytest.approx([0.01 / math.sqrt(2e-4)])


def test_risk_free_return_is_per_bar() -> None:
    assert sharpe.sharpe_ratio(SERIES, risk_free_frac=0.001) == pytest.approx(
        (SERIES.mean() - 0.001) / SERIES.std(ddof=1)
    )


def test_undefined_ratio_stays_undefined() -> None:
    assert math.isnan(sharpe.probabilistic_sharpe(math.nan, n_bars=100))
    assert math.isnan(sharpe.min_track_record(math.nan))
    assert math.isnan(deflation.deflated_sharpe(math.nan, n_bars=9, trial_variance=0.1, n_trials=5))
    assert math.isnan(deflation.deflated_sharpe(0.1, n_bars=9, trial_variance=math.nan, n_trials=5))


@pytest.mark.parametrize("n_bars", [0, 1, 3])
def test_fewer_than_four_bars_are_refused(n_bars: int) -> None:
    with pytest.raises(DataError, match="n_bars must be 4 or more"):
        sharpe.probabilistic_sharpe(0.1, n_bars=n_bars)


@pytest.mark.parametrize(("skew", "kurtosis"), [(3.0, 3.0), (0.0, 0.0), (-3.0, 7.0)])
def test_moments_that_make_the_variance_negative_are_refused(skew: float, kurtosis: float) -> None:
    with pytest.raises(DataError, match="kurtosis must be at least 1"):
        sharpe.probabilistic_sharpe(1.0, n_bars=50, skew=skew, kurtosis=kurtosis)


def test_two_point_distribution_at_the_edge_has_no_error_to_divide_by() -> None:
    assert math.isnan(sharpe.probabilistic_sharpe(1.0, n_bars=50, skew=2.0, kurtosis=5.0))


def test_track_record_at_or_below_the_target_never_ends() -> None:
    assert sharpe.min_track_record(0.1, target=0.1) == math.inf
    assert sharpe.min_track_record(0.05, target=0.1) == math.inf


def test_probability_against_itself_is_a_half() -> None:
    for variant in ("classic", "null"):
        assert sharpe.probabilistic_sharpe(0.1, n_bars=50, target=0.1, variant=variant) == 0.5


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_level_outside_zero_and_one_is_refused(alpha: float) -> None:
    with pytest.raises(ConfigError, match="alpha must lie between 0 and 1"):
        sharpe.min_track_record(0.1, alpha=alpha)


def test_unknown_variant_is_refused() -> None:
    with pytest.raises(ConfigError, match="'classic' or 'null'"):
        sharpe.probabilistic_sharpe(0.1, n_bars=50, variant="bayes")  # type: ignore[arg-type]


def test_autocorrelations_that_no_series_has_are_refused() -> None:
    with pytest.raises(DataError, match="yearly variance"):
        sharpe.annualisation_factor(252, [-0.9, -0.9])


def test_annualisation_of_independent_returns_is_a_square_root() -> None:
    assert sharpe.annualisation_factor(1764) == math.sqrt(1764)
    assert sharpe.annualisation_factor(1, [0.5]) == 1.0


# Many trials


def test_one_trial_deflates_nothing() -> None:
    assert deflation.expected_maximum(1) == 0.0
    assert deflation.deflated_target(trial_variance=0.3, n_trials=1) == 0.0
    assert deflation.deflated_target(trial_variance=math.nan, n_trials=1) == 0.0
    assert deflation.deflated_sharpe(
        0.1, n_bars=90, trial_variance=0.3, n_trials=1
    ) == sharpe.probabilistic_sharpe(0.1, n_bars=90)


def test_expected_maximum_never_falls_below_zero_and_grows() -> None:
    maxima = [deflation.expected_maximum(n) for n in (1.0, 1.05, 1.5, 2, 3, 10, 1e6)]
    assert maxima == sorted(maxima)
    assert maxima[0] == 0.0


@pytest.mark.parametrize("n_trials", [0, -3, 0.5, math.nan, math.inf])
def test_fewer_than_one_trial_is_refused(n_trials: float) -> None:
    with pytest.raises(ConfigError, match="n_trials must be 1 or more"):
        deflation.expected_maximum(n_trials)


def test_trials_that_were_not_counted_raise_the_deflated_ratio() -> None:
    honest, hidden = (
        deflation.deflated_sharpe(0.08, n_bars=1000, trial_variance=0.001, n_trials=n)
        for n in (500, 10)
    )
    assert honest < 0.5 < hidden


def test_annual_variance_of_trials_gives_another_answer_than_per_bar() -> None:
    right, wrong = (
        deflation.deflated_sharpe(0.1, n_bars=1250, trial_variance=v, n_trials=100)
        for v in (0.5 / 250, 0.5)
    )
    assert right > 0.3
    assert wrong < 1e-9


def test_negative_variance_of_trials_is_refused() -> None:
    with pytest.raises(DataError, match="trial_variance"):
        deflation.deflated_target(trial_variance=-1e-9, n_trials=10)


def test_effective_trials_lie_between_one_and_all() -> None:
    assert deflation.effective_trials(0.0, 100) == 100.0
    assert deflation.effective_trials(1.0, 100) == 1.0
    assert deflation.effective_trials(0.5, 101) == 51.0
    assert deflation.effective_trials(-0.2, 100) == 100.0
    with pytest.raises(ConfigError):
        deflation.effective_trials(0.2, 0)


def test_mean_correlation_is_that_of_the_matrix() -> None:
    matrix = NOISE + 0.01 * NOISE[:, :1]
    correlation = np.corrcoef(matrix.T)
    assert deflation.mean_correlation(matrix) == pytest.approx(
        correlation[np.triu_indices(4, k=1)].mean()
    )
    copies = np.repeat(NOISE[:, :1], 3, axis=1)
    assert deflation.mean_correlation(copies) == pytest.approx(1.0)
    flat = np.concatenate([copies, np.zeros((200, 1))], axis=1)
    assert deflation.mean_correlation(flat) == pytest.approx(0.5)
    assert deflation.mean_correlation(NOISE[:, :1]) == 0.0


def test_min_backtest_stays_below_its_bound() -> None:
    for n in (2, 10, 1000):
        assert deflation.min_backtest_years(n, target_annual=2.0) <= 2.0 * math.log(n) / 4.0
    with pytest.raises(ConfigError):
        deflation.min_backtest_years(10, target_annual=0.0)


# Overfitting


@pytest.mark.parametrize("n_blocks", [0, 1, 7, 22, -2])
def test_odd_or_extreme_number_of_blocks_is_refused(n_blocks: int) -> None:
    with pytest.raises(ConfigError, match="n_blocks must be even"):
        overfitting.backtest_overfitting(NOISE, n_blocks=n_blocks)


def test_too_few_bars_for_the_blocks_are_refused() -> None:
    with pytest.raises(DataError, match="32 rows or more, was 31"):
        overfitting.backtest_overfitting(NOISE[:31])


def test_one_trial_cannot_be_overfitted() -> None:
    with pytest.raises(DataError, match="two trials or more"):
        overfitting.backtest_overfitting(NOISE[:, :1])


def test_rows_that_do_not_fill_the_blocks_are_dropped_at_the_start() -> None:
    padded = np.concatenate([np.full((5, 4), 0.5), NOISE[8:]])
    assert overfitting.backtest_overfitting(padded, n_blocks=8).pbo == (
        overfitting.backtest_overfitting(NOISE[8:], n_blocks=8).pbo
    )


def test_equal_trials_share_the_middle_rank() -> None:
    result = overfitting.backtest_overfitting(np.repeat(SERIES[:, None], 3, axis=1), n_blocks=4)
    assert result.logits == pytest.approx(0.0)
    assert result.pbo == 1.0


def test_flat_trial_counts_as_zero_and_a_constant_one_is_refused() -> None:
    flat = np.concatenate([NOISE[:, :1] - 0.01, np.zeros((200, 1))], axis=1)
    result = overfitting.backtest_overfitting(flat, n_blocks=8)
    assert result.pbo == 0.0
    assert (result.inside == 0.0).all()
    with pytest.raises(DataError, match="column 1"):
        overfitting.backtest_overfitting(flat + np.array([0.0, 0.001]))


def test_overfitting_matches_the_plain_loop() -> None:
    from itertools import combinations

    from scipy import stats

    blocks = np.split(NOISE, 4)
    ranks, here, there = [], [], []
    for chosen in combinations(range(4), 2):
        parts = [
            np.concatenate([blocks[i] for i in range(4) if (i in chosen) == inside])
            for inside in (True, False)
        ]
        inside, outside = (part.mean(0) / part.std(0, ddof=1) for part in parts)
        ranks.append(stats.rankdata(outside)[inside.argmax()] / 5.0)
        here.append(inside.max())
        there.append(outside[inside.argmax()])
    expected = np.log(np.array(ranks) / (1 - np.array(ranks)))
    found = overfitting.backtest_overfitting(NOISE, n_blocks=4)
    assert found.logits == pytest.approx(expected)
    assert found.inside == pytest.approx(here)
    assert found.outside == pytest.approx(there)
    assert found.slope == pytest.approx(np.polyfit(here, there, 1)[0])


# Superior ability


def test_more_return_is_better_not_worse() -> None:
    better = NOISE[:, 1:] + 0.01
    assert superior.superior_ability(better, SERIES).p_consistent < 0.01
    worse = superior.superior_ability(-better, SERIES)
    assert worse.statistic == 0.0
    assert (worse.p_lower, worse.p_consistent, worse.p_upper) == (1.0, 1.0, 1.0)


def test_p_values_are_in_order_and_repeat_with_the_seed() -> None:
    one, two = (superior.superior_ability(NOISE[:, 1:], SERIES, seed=4) for _ in range(2))
    other = superior.superior_ability(NOISE[:, 1:], SERIES, seed=5)
    assert one == two
    assert one != other
    assert one.p_lower <= one.p_consistent <= one.p_upper


def test_candidate_that_is_the_baseline_proves_nothing() -> None:
    result = superior.superior_ability(SERIES[:, None], SERIES)
    assert result.statistic == 0.0
    assert result.p_lower == 1.0
    assert superior.superior_ability(NOISE, SERIES).n_candidates == 4


def test_hopeless_candidates_do_not_dilute_the_consistent_value() -> None:
    generator = np.random.default_rng(8)
    good = generator.standard_normal((400, 1)) * 0.01 + 0.0012
    hopeless = generator.standard_normal((400, 60)) * 0.01 - 0.02
    baseline = np.zeros(400)
    alone = superior.superior_ability(good, baseline, block_bars=1)
    among = superior.superior_ability(
        np.concatenate([good, hopeless], axis=1), baseline, block_bars=1
    )
    assert among.p_consistent == pytest.approx(alone.p_consistent, abs=0.02)
    assert among.p_upper > 2.0 * among.p_consistent


def test_candidate_at_a_constant_distance_is_refused() -> None:
    with pytest.raises(DataError, match="differ from the baseline by a constant"):
        superior.superior_ability(SERIES[:, None] + 0.01, SERIES)


def test_other_length_of_the_baseline_is_refused() -> None:
    with pytest.raises(DataError, match="same bars, was 200 and 199"):
        superior.superior_ability(NOISE, SERIES[1:])
    with pytest.raises(DataError, match="16 rows or more"):
        superior.superior_ability(NOISE[:15], SERIES[:15])


# Bootstrap


def test_bootstrap_repeats_with_its_seed_only() -> None:
    one, two, other = (
        bootstrap.bootstrap_interval(SERIES, bootstrap.sharpe_of, seed=seed, n_draws=200)
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other


def test_draws_go_on_in_order_for_the_length_of_a_block() -> None:
    generator = np.random.default_rng(0)
    drawn = bootstrap.stationary_indices(500, block_bars=20.0, n_draws=200, generator=generator)
    follows = (drawn[:, 1:] - drawn[:, :-1]) % 500 == 1
    assert follows.mean() == pytest.approx(1.0 - 1.0 / 20.0, abs=0.005)
    assert np.bincount(drawn.ravel(), minlength=500).min() > 0
    single = bootstrap.stationary_indices(500, block_bars=1.0, n_draws=200, generator=generator)
    assert ((single[:, 1:] - single[:, :-1]) % 500 == 1).mean() < 0.01


def test_interval_of_dependent_returns_is_wider_than_of_shuffled_ones() -> None:
    generator = np.random.default_rng(3)
    series = np.convolve(generator.standard_normal(1019), np.ones(20) / 20.0, mode="valid")
    dependent = bootstrap.bootstrap_interval(series, bootstrap.mean_of)
    shuffled = bootstrap.bootstrap_interval(generator.permutation(series), bootstrap.mean_of)
    assert dependent.high - dependent.low > 2.5 * (shuffled.high - shuffled.low)


def test_undefined_draws_leave_the_ends_undefined() -> None:
    lonely = np.zeros(40)
    lonely[7] = 0.01
    interval = bootstrap.bootstrap_interval(lonely, bootstrap.sharpe_of)
    assert interval.estimate > 0.0
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_columns_are_resampled_together() -> None:
    def gap_of(histories: np.ndarray) -> np.ndarray:
        return bootstrap.sharpe_of(histories[..., 0]) - bootstrap.sharpe_of(histories[..., 1])

    gap = bootstrap.bootstrap_interval(np.stack([SERIES, SERIES], axis=1), gap_of)
    assert gap == (0.0, 0.0, 0.0)


def test_block_length_of_a_constant_is_one() -> None:
    assert bootstrap.automatic_block_bars(np.full(50, 0.3)) == 1.0
    assert bootstrap.automatic_block_bars(np.tile([1.0, -1.0], 100)) >= 1.0
    with pytest.raises(DataError, match="8 rows or more"):
        bootstrap.automatic_block_bars([0.1] * 7)
    with pytest.raises(ConfigError, match="kind must be"):
        bootstrap.automatic_block_bars(SERIES, kind="moving")  # type: ignore[arg-type]


@pytest.mark.parametrize("block_bars", [0.5, 0.0, math.nan, math.inf])
def test_block_below_one_bar_is_refused(block_bars: float) -> None:
    with pytest.raises(ConfigError, match="block_bars must be 1 or more"):
        bootstrap.bootstrap_interval(SERIES, bootstrap.mean_of, block_bars=block_bars)


# Means with autocorrelation


@pytest.mark.parametrize(
    ("n_bars", "lags"), [(1, 0), (2, 1), (3, 1), (50, 3), (100, 4), (300, 5), (1000, 6), (5000, 9)]
)
def test_automatic_lags_are_the_rule_of_thumb(n_bars: int, lags: int) -> None:
    # 4·(T ÷ 100)^(2/9): 1.7, 1.8, 3.4, 4, 5.1, 6.7 and 9.5.
    assert hac.automatic_lags(n_bars) == lags


def test_newey_west_without_lags_is_the_plain_error() -> None:
    plain = SERIES.std() / math.sqrt(len(SERIES))
    assert hac.mean_error(SERIES, lags=0) == pytest.approx(plain)


def test_newey_west_is_the_weighted_sum_of_autocovariances() -> None:
    deviation = SERIES - SERIES.mean()
    covariance = [deviation[k:] @ deviation[: len(SERIES) - k] / len(SERIES) for k in range(4)]
    expected = covariance[0] + 2 * sum((1 - k / 4) * covariance[k] for k in (1, 2, 3))
    assert hac.mean_error(SERIES, lags=3) == pytest.approx(math.sqrt(expected / len(SERIES)))


def test_difference_is_paired() -> None:
    interval = hac.difference_interval(SERIES + 0.001, SERIES)
    assert interval.estimate == pytest.approx(0.001)
    paired = hac.difference_interval(NOISE[:, 0] + NOISE[:, 1], NOISE[:, 0])
    assert paired == pytest.approx(hac.mean_interval(NOISE[:, 1]))


def test_mean_of_what_does_not_move_has_no_interval() -> None:
    interval = hac.mean_interval(np.full(20, 0.01))
    assert interval.estimate == pytest.approx(0.01)
    assert math.isnan(interval.low)
    assert math.isnan(hac.mean_error(np.zeros(20)))


@pytest.mark.parametrize("lags", [-1, 200])
def test_lags_beyond_the_series_are_refused(lags: int) -> None:
    with pytest.raises(ConfigError, match="lags must lie"):
        hac.mean_interval(SERIES, lags=lags)


# Runs and tasks


def test_same_scores_improve_with_probability_one_half() -> None:
    assert aggregates.probability_of_improvement(NOISE, NOISE) == 0.5
    assert aggregates.probability_of_improvement(NOISE + 1.0, NOISE) == 1.0


def test_lucky_seed_moves_the_mean_but_not_the_middle() -> None:
    scores = NOISE[:20].copy()
    before = aggregates.interquartile_mean(scores)
    scores[3, 2] = 1e6
    assert abs(aggregates.interquartile_mean(scores) - before) < 0.01
    assert aggregates.aggregate_interval(scores, "mean", n_draws=100).estimate > 1e4


def test_aggregate_intervals_repeat_with_their_seed() -> None:
    one, two, other = (
        aggregates.aggregate_interval(NOISE[:6], n_draws=500, seed=seed) for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other
    assert one.covers(one.estimate)


def test_runs_are_drawn_within_each_task_on_their_own() -> None:
    one = SERIES[:20, None]
    alone, many = (
        aggregates.aggregate_interval(np.repeat(one, tasks, axis=1), "mean", n_draws=4000)
        for tasks in (1, 16)
    )
    # Sixteen draws of the same runs vary a quarter as much as one.
    assert many.high - many.low == pytest.approx((alone.high - alone.low) / 4.0, rel=0.1)


def test_single_run_has_no_interval_and_tasks_must_agree() -> None:
    with pytest.raises(DataError, match="2 rows or more"):
        aggregates.aggregate_interval(NOISE[:1])
    with pytest.raises(DataError, match="same tasks, was 4, 3"):
        aggregates.probability_of_improvement(NOISE, NOISE[:, :3])
    with pytest.raises(ConfigError, match="Did you mean 'median'"):
        aggregates.aggregate_interval(NOISE, "medain")  # type: ignore[arg-type]


def test_median_is_of_the_means_of_tasks() -> None:
    scores = np.array([[1.0, 5.0, 9.0], [3.0, 7.0, 0.0]])
    assert aggregates.aggregate_interval(scores, "median", n_draws=10).estimate == 4.5


# Many tests


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_prior_that_knows_everything_is_refused(prior: float) -> None:
    with pytest.raises(ConfigError, match="prior"):
        multiple.false_discovery_rate(prior=prior, alpha=0.05, miss=0.2)


# Paths


def test_paths_join_each_test_block_once() -> None:
    folds = combinatorial_purged(60, blocks=6, test_blocks=2, gap=Gap(1, 1, 1))
    returns = np.full((15, 60), math.nan)
    for split, fold in enumerate(folds.folds):
        for test in fold.tests:
            returns[split, test.start : test.stop] = split + np.arange(test.start, test.stop) / 100
    joined = paths.path_returns(folds, returns)
    assert joined.shape == (5, 60)
    # Every bar of the grid keeps its own time, and every split is used for both of its blocks.
    assert np.round((joined % 1.0) * 100).astype(int).tolist() == [list(range(60))] * 5
    used = np.bincount(joined.astype(int)[:, ::10].ravel(), minlength=15)
    assert used.tolist() == [2] * 15


def test_paths_vary_as_their_returns_do() -> None:
    folds = combinatorial_purged(120, blocks=6, test_blocks=2, gap=Gap(0, 0, 0))
    same = np.tile(SERIES[:120], (15, 1))
    result = paths.path_sharpes(folds, same)
    assert result.sharpes == pytest.approx([sharpe.sharpe_ratio(SERIES[:120])] * 5)
    assert result.spread == pytest.approx(0.0, abs=1e-12)
    flat = paths.path_sharpes(folds, np.zeros((15, 120)))
    assert math.isnan(flat.median)
    assert flat.negative_frac == 1.0


def test_paths_refuse_gaps_and_other_shapes() -> None:
    folds = combinatorial_purged(60, blocks=6, test_blocks=2, gap=Gap(0, 0, 0))
    with pytest.raises(DataError, match=r"path 0, bar 0"):
        paths.path_returns(folds, np.full((15, 60), math.nan))
    with pytest.raises(DataError, match="splits, bars"):
        paths.path_returns(folds, np.zeros((14, 60)))
