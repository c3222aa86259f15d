"""Statistics of made-up tracks: each is what its own function says of the right numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from fixtures.example_backtest import example_tear_sheet
from tradingbot.data.folds import combinatorial_purged
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses import statistics
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import Performance, Series
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    TradedPeriod,
)
from tradingbot.evaluation.analyses.settings import StatisticsSettings
from tradingbot.evaluation.analyses.statistics import measure_statistics
from tradingbot.evaluation.dossier.evidence import Statistics
from tradingbot.evaluation.performance.record import (
    AGENTS,
    HOLD,
    ORACLE,
    PartPerformance,
    PolicyKind,
)
from tradingbot.evaluation.statistics.deflation import (
    deflated_sharpe,
    deflated_target,
    min_backtest_years,
)
from tradingbot.evaluation.statistics.dependence import effective_bars
from tradingbot.evaluation.statistics.overfitting import backtest_overfitting
from tradingbot.evaluation.statistics.paths import path_sharpes
from tradingbot.evaluation.statistics.sharpe import (
    measure_sharpe,
    min_track_record,
    probabilistic_sharpe,
)
from tradingbot.evaluation.statistics.superior import SuperiorAbility, superior_ability

FloatArray = NDArray[np.float64]

BARS, PER_YEAR, EXCESS_BPS = 480, 1764.0, 5.0
LUCK = 5e-4
"""What the market added to every bar, return per bar."""
SETTINGS = StatisticsSettings(draws=200, overfitting_blocks=4, path_blocks=6)
BETTER, WORSE = "better", "worse"
TRIALS = [float(each) for each in np.linspace(-0.15, 0.2, 20)]
"""Sharpe ratios per bar of the ledger; they lie further apart than luck alone would put them."""


def noise(name: str, deviation: float) -> FloatArray:
    """Draw (S,) numbers with a mean of 0 to the last bit but rounding."""
    drawn = stream(3, name).normal(0.0, deviation, BARS)
    return np.asarray(drawn - drawn.mean())


@dataclass(frozen=True, eq=False)
class Tracks:
    """Returns (S,) per bar."""

    own: FloatArray
    """Portfolio of the agents."""
    hold: FloatArray
    """Sleeves of equal weight."""
    sleeves: FloatArray
    """Of the agents: better than equal weight by `EXCESS_BPS`."""
    better: FloatArray
    """Portfolio of a baseline that beats the agents."""
    worse: FloatArray
    early: FloatArray
    """A variant that earns in the first half alone, most of all on the whole."""
    late: FloatArray
    """One that earns in the second half alone."""

    @property
    def variants(self) -> FloatArray:
        """(S, 3): the run and what was trained again."""
        return np.stack([self.own, self.early, self.late], axis=1)


@pytest.fixture(scope="module")
def tracks() -> Tracks:
    own, hold = 15e-4 + noise("own", 60e-4), noise("hold", 30e-4)
    first = np.arange(BARS) < BARS // 2
    return Tracks(
        own=own,
        hold=hold,
        sleeves=hold + 1e-4 * EXCESS_BPS + noise("excess", 10e-4),
        better=own + 10e-4 + noise("better", 20e-4),
        worse=own - 10e-4 + noise("worse", 20e-4),
        early=np.where(first, 60e-4, -5e-4) + noise("early", 60e-4),
        late=np.where(first, -5e-4, 50e-4) + noise("late", 60e-4),
    )


def series(policy: str, kind: PolicyKind, portfolio: FloatArray, sleeves: FloatArray) -> Series:
    """Return a track whose alpha is given as `portfolio`; its net return is the market's luck."""
    net = tuple((portfolio + LUCK).tolist())
    return Series(policy, kind, net, tuple(sleeves.tolist()), tuple(portfolio.tolist()))


def trained(seed: int, returns: FloatArray) -> RetrainingResult:
    worth = np.concatenate([[1.0], np.cumprod(1.0 + returns)])
    alpha = tuple(returns.tolist())
    part = TradedPeriod("test", "2025-01-02", "2025-04-01", tuple(worth.tolist()), (), alpha)
    return RetrainingResult(RetrainingSpec(seed, 1.0), 1, "", "", "2024-12-31", 1, (part,))


def given_of(tracks: Tracks, own_exposure: float = 0.5) -> AnalysisInputs:
    other = trained(3, tracks.better)
    windowed = replace(other, spec=replace(other.spec, windows=(("2025-01-02", "2025-01-31"),)))
    held = {AGENTS: own_exposure, HOLD: 0.5, BETTER: 0.5, WORSE: 0.25, ORACLE: 1.0}
    rows = tuple(SimpleNamespace(policy=name, exposure_frac=held[name]) for name in held)
    test = cast(PartPerformance, SimpleNamespace(factor="equal weight", policies=rows))
    performance = Performance(
        (test,),
        (
            series(AGENTS, "agents", tracks.own, tracks.sleeves),
            series(HOLD, "baseline", tracks.hold, tracks.hold),
            series(BETTER, "baseline", tracks.better, tracks.better),
            series(WORSE, "baseline", tracks.worse, tracks.worse),
            series(ORACLE, "oracle", 2.0 * tracks.better, 2.0 * tracks.better),
        ),
        example_tear_sheet(3),
    )
    results = {
        "performance": performance,
        "training-1": trained(1, tracks.early),
        "training-2": trained(2, tracks.late),
        "training-3": windowed,
        "training-4": trained(4, tracks.better[:-1]),
    }
    subject = cast(EvaluatedRun, SimpleNamespace(bars_per_year=PER_YEAR))
    return AnalysisInputs(subject, results, facts=TRIALS)


@pytest.fixture(scope="module")
def found(tracks: Tracks) -> Statistics:
    return measure_statistics(given_of(tracks), SETTINGS)


def test_sharpe_is_deflated_by_number_and_spread_of_the_trials(
    found: Statistics, tracks: Tracks
) -> None:
    sample, variance = measure_sharpe(tracks.own), float(np.var(TRIALS, ddof=1))
    sharpe, skew, kurtosis = sample.sharpe, sample.skew, sample.kurtosis
    best = deflated_target(trial_variance=variance, n_trials=20)
    proving = effective_bars(tracks.own)
    plain = probabilistic_sharpe(sharpe, n_bars=proving, skew=skew, kurtosis=kurtosis)
    deflated = deflated_sharpe(
        sharpe,
        n_bars=proving,
        skew=skew,
        kurtosis=kurtosis,
        trial_variance=variance,
        n_trials=20,
    )

    assert (found.bars, found.n_trials) == (BARS, 20)
    assert (found.sharpe_per_bar, found.skewness, found.kurtosis) == (sharpe, skew, kurtosis)
    assert found.trial_deviation == pytest.approx(math.sqrt(variance))
    assert found.expected_best_sharpe == pytest.approx(best)
    assert found.probabilistic_sharpe == pytest.approx(plain)
    assert found.deflated_sharpe == pytest.approx(deflated)
    assert deflated < 0.95 < plain  # the search takes the proof away
    needed = min_track_record(sharpe, skew=skew, kurtosis=kurtosis) * BARS / proving
    assert found.effective_bars == proving < BARS
    assert found.min_track_record_bars == needed
    assert found.min_backtest_years == min_backtest_years(20)


def test_track_is_alpha_and_the_net_return_stands_beside(found: Statistics, tracks: Tracks) -> None:
    net = measure_sharpe(tracks.own + LUCK)

    assert found.judged == "alpha against equal weight"
    assert found.net_sharpe_per_bar == net.sharpe
    assert found.net_probabilistic_sharpe > found.probabilistic_sharpe


def test_ledger_without_trials_counts_the_run_itself(tracks: Tracks) -> None:
    alone = measure_statistics(replace(given_of(tracks), facts=[]), SETTINGS)

    assert alone.n_trials == 1
    assert alone.expected_best_sharpe == 0.0
    assert alone.deflated_sharpe == alone.probabilistic_sharpe


def against(tracks: Tracks, baseline: FloatArray) -> SuperiorAbility:
    return superior_ability(tracks.own[:, None], baseline, n_draws=SETTINGS.draws)


def test_superiority_is_that_over_the_baseline_that_is_hardest_to_beat(
    found: Statistics, tracks: Tracks
) -> None:
    hardest = against(tracks, tracks.better)

    assert against(tracks, tracks.worse).p_upper < 0.05  # another one is beaten
    assert found.spa_p_lower == hardest.p_lower
    assert found.spa_p_consistent == hardest.p_consistent > 0.5
    assert found.spa_p_upper == hardest.p_upper
    assert found.spa_against == (HOLD, BETTER, WORSE)


@pytest.mark.parametrize(("run", "stand"), [("agents", (HOLD, WORSE)), ("", (HOLD, BETTER, WORSE))])
def test_allocations_over_trained_agents_are_no_baselines_and_over_rules_they_are(
    tracks: Tracks, run: str, stand: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What agents learned is in any division of capital among them."""
    portfolio = object.__new__(PortfolioRun)
    object.__setattr__(portfolio, "chain", SimpleNamespace(record=SimpleNamespace(run=run)))
    object.__setattr__(portfolio, "bars_per_year", PER_YEAR)
    monkeypatch.setattr(statistics, "ALLOCATION_RULES", {BETTER: None})

    found = measure_statistics(replace(given_of(tracks), subject=portfolio), SETTINGS)

    assert found.spa_against == stand
    assert (found.spa_p_consistent < 0.05) == (BETTER not in stand)


def test_baselines_that_hold_more_than_the_agents_are_compared_at_their_exposure(
    tracks: Tracks,
) -> None:
    smaller = measure_statistics(given_of(tracks, own_exposure=0.125), SETTINGS)

    quarter = against(tracks, 0.25 * tracks.better)  # earns a quarter, with a quarter of the noise
    assert smaller.spa_p_consistent == quarter.p_consistent < 0.05
    larger = measure_statistics(given_of(tracks, own_exposure=1.0), SETTINGS)
    assert larger.spa_p_consistent == against(tracks, tracks.better).p_consistent


def test_overfitting_is_of_all_trainings_on_the_same_bars(
    found: Statistics, tracks: Tracks
) -> None:
    assert found.overfitting_variants == 3  # neither windows nor another length
    wanted = backtest_overfitting(tracks.variants, n_blocks=SETTINGS.overfitting_blocks).pbo
    assert found.overfitting_probability == pytest.approx(wanted)


def paths_chosen_on(tracks: Tracks, *, all_rows: bool) -> FloatArray:
    """Return annual Sharpe ratios of paths; the variant of a fold is chosen on some rows."""
    folds = combinatorial_purged(BARS, blocks=SETTINGS.path_blocks)
    chosen = []
    for fold in folds.folds:
        seen = tracks.variants if all_rows else tracks.variants[fold.train_indices()]
        chosen.append(tracks.variants[:, np.argmax(seen.mean(axis=0) / seen.std(axis=0, ddof=1))])
    return math.sqrt(PER_YEAR) * np.array(path_sharpes(folds, np.stack(chosen)).sharpes)


def test_variant_of_a_path_is_chosen_outside_the_blocks_it_is_tested_on(
    found: Statistics, tracks: Tracks
) -> None:
    honest = paths_chosen_on(tracks, all_rows=False)
    cheated = paths_chosen_on(tracks, all_rows=True)

    assert honest.mean() < cheated.mean() - 0.5  # choosing on what is tested would flatter
    np.testing.assert_allclose(found.path_sharpe_annual, honest, rtol=1e-6)
