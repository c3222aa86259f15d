"""Statistics on worlds whose truth is known: false alarms and coverage are as stated."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.evaluation.statistics import aggregates, deflation, hac, sharpe, superior
from tradingbot.evaluation.statistics import bootstrap as resampling


def rates_of_best(n_trials: int, *, n_worlds: int, seed: int) -> tuple[float, float]:
    """Share of worlds without skill whose best of N trials passes PSR > 0.95, and DSR > 0.95."""
    generator = np.random.default_rng(seed)
    classic = deflated = 0
    for _ in range(n_worlds):
        returns = generator.standard_normal((250, n_trials))
        sharpes = returns.mean(axis=0) / returns.std(axis=0, ddof=1)
        best = vars(sharpe.measure_sharpe(returns[:, sharpes.argmax()]))
        variance = float(sharpes.var(ddof=1)) if n_trials > 1 else 0.0
        classic += sharpe.probabilistic_sharpe(**best) > 0.95
        deflated += (
            deflation.deflated_sharpe(**best, trial_variance=variance, n_trials=n_trials) > 0.95
        )
    return classic / n_worlds, deflated / n_worlds


@pytest.mark.parametrize(
    ("n_trials", "passing"), [(1, 0.045), (10, 0.385), (50, 0.922), (200, 1.0)]
)
def test_best_of_many_null_trials_passes_psr_but_not_dsr(n_trials: int, passing: float) -> None:
    classic, deflated = rates_of_best(n_trials, n_worlds=300, seed=n_trials)

    # Four standard errors of a share of 300 worlds.
    assert classic == pytest.approx(passing, abs=4 * (passing * (1 - passing) / 300) ** 0.5 + 0.01)
    assert deflated <= 0.05 + 4 * (0.05 * 0.95 / 300) ** 0.5 * (n_trials == 1)


def test_superior_ability_of_noise_is_claimed_as_rarely_as_stated() -> None:
    generator = np.random.default_rng(7)
    claims = [
        superior.superior_ability(
            generator.standard_normal((200, 10)), generator.standard_normal(200), n_draws=200
        ).p_consistent
        < 0.10
        for _ in range(150)
    ]

    assert 0.02 <= np.mean(claims) <= 0.18


@pytest.mark.parametrize(("n_runs", "stated"), [(3, 0.73), (5, 0.91), (10, 0.94)])
def test_interval_of_the_middle_covers_as_often_as_stated(n_runs: int, stated: float) -> None:
    generator = np.random.default_rng(n_runs)
    covered = [
        aggregates.aggregate_interval(generator.standard_normal((n_runs, 1)), n_draws=1000).covers(
            0.0
        )
        for _ in range(800)
    ]

    assert np.mean(covered) == pytest.approx(stated, abs=0.04)


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_intervals_of_a_mean_cover_it_whether_returns_depend_or_not(rho: float) -> None:
    generator = np.random.default_rng(11)
    bootstrap = newey_west = 0
    for _ in range(120):
        series = generator.standard_normal(420)
        for bar in range(1, 420):
            series[bar] += rho * series[bar - 1]
        series = series[20:]
        bootstrap += resampling.bootstrap_interval(series, resampling.mean_of, n_draws=300).covers(
            0.0
        )
        newey_west += hac.mean_interval(series, lags=12).covers(0.0)

    assert bootstrap / 120 == pytest.approx(0.93, abs=0.07)
    assert newey_west / 120 == pytest.approx(0.92, abs=0.07)


def test_sharpe_error_is_the_spread_of_sharpe_ratios() -> None:
    generator = np.random.default_rng(12)
    skewed = generator.exponential(size=(4000, 300)) - 0.8
    sharpes = skewed.mean(axis=1) / skewed.std(axis=1, ddof=1)

    # An exponential has skewness 2 and kurtosis 9; its Sharpe ratio here is 0.2.
    assert sharpes.std() == pytest.approx(
        sharpe.sharpe_error(0.2, n_bars=300, skew=2.0, kurtosis=9.0), rel=0.05
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n_trials", "passing"), [(10, 0.385), (50, 0.922)])
def test_best_of_many_null_trials_passes_as_often_as_found(n_trials: int, passing: float) -> None:
    classic, deflated = rates_of_best(n_trials, n_worlds=4000, seed=100 + n_trials)

    assert classic == pytest.approx(passing, abs=0.035)
    assert deflated < 0.01
