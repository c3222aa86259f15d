"""Is it luck? The test part's returns under every statistic, deflated by the ledger's count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.folds import combinatorial_purged
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError, DataError, MissingExtraError
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.performance import Performance
from tradingbot.evaluation.analyses.retraining.training import RetrainingResult
from tradingbot.evaluation.analyses.statistics.trials import trial_variance
from tradingbot.evaluation.dossier.evidence import Statistics
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.evaluation.statistics.deflation import (
    deflated_sharpe,
    deflated_target,
    min_backtest_years,
)
from tradingbot.evaluation.statistics.overfitting import backtest_overfitting
from tradingbot.evaluation.statistics.paths import path_sharpes
from tradingbot.evaluation.statistics.sharpe import (
    SharpeSample,
    measure_sharpe,
    min_track_record,
    probabilistic_sharpe,
    sharpe_ratio,
)
from tradingbot.evaluation.statistics.superior import superior_ability

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class StatisticsSettings:
    """How fine the statistics are."""

    draws: int = 2000
    """Resampled histories of the test of superior ability."""
    overfitting_blocks: int = 16
    """S of the combinatorial test of overfitting, even."""
    path_blocks: int = 10
    """Blocks of the combinatorial purged paths, two of them tested at a time."""

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        require_kinds(self)
        require(self.draws >= 100, "draws must be 100 or more", self)
        blocks = self.overfitting_blocks
        require(
            blocks % 2 == 0 and 2 <= blocks <= 16,
            "overfitting_blocks must be even, from 2 to 16",
            self,
        )
        require(self.path_blocks >= 3, "path_blocks must be 3 or more", self)


@dataclass(frozen=True)
class Superiority:
    """P-values of: the agents are no better than the best baseline."""

    lower: float
    consistent: float
    upper: float


class _Deflation(TypedDict):
    """Fields of `Statistics` that follow from one track and the trials before it."""

    bars: int
    sharpe_per_bar: float
    skewness: float
    kurtosis: float
    probabilistic_sharpe: float
    n_trials: int
    trial_deviation: float
    expected_best_sharpe: float
    deflated_sharpe: float
    min_track_record_bars: float
    min_backtest_years: float


def measure_statistics(inputs: AnalysisInputs, settings: StatisticsSettings) -> Statistics:
    """Ask every statistic.

    Args:
        inputs: With `performance`, trainings of the same split, and as facts the Sharpe ratio per
            bar of every trial in the ledger.
        settings: How fine.
    """
    performance: Performance = inputs.results["performance"]
    own = np.array(performance.series(AGENTS).portfolio)
    baselines = {
        each.policy: np.array(each.portfolio)
        for each in performance.test_series
        if each.kind == "baseline"
    }
    variants = _variants(inputs, own)
    superiority = _superiority(own, list(baselines.values()), settings.draws)
    return Statistics(
        **_deflation(own, inputs.facts or [None]),
        overfitting_probability=_overfitting(variants, settings.overfitting_blocks),
        overfitting_variants=variants.shape[1],
        path_sharpe_annual=_paths(variants, settings.path_blocks, inputs.subject.bars_per_year),
        spa_p_lower=superiority.lower,
        spa_p_consistent=superiority.consistent,
        spa_p_upper=superiority.upper,
        spa_against=tuple(baselines),
    )


def _deflation(own: FloatArray, trials: Sequence[float | None]) -> _Deflation:
    """Deflate the Sharpe ratio of returns (S,) by the ratios per bar of all trials."""
    sample, n_trials = _defined(measure_sharpe(own)), len(trials)
    variance = trial_variance(trials, bars=len(own))
    sharpe, skew, kurtosis = sample.sharpe, sample.skew, sample.kurtosis
    return _Deflation(
        bars=len(own),
        sharpe_per_bar=sharpe,
        skewness=skew,
        kurtosis=kurtosis,
        probabilistic_sharpe=probabilistic_sharpe(
            sharpe, n_bars=len(own), skew=skew, kurtosis=kurtosis
        ),
        n_trials=n_trials,
        trial_deviation=math.sqrt(variance),
        expected_best_sharpe=deflated_target(trial_variance=variance, n_trials=n_trials),
        deflated_sharpe=deflated_sharpe(
            sharpe,
            n_bars=len(own),
            skew=skew,
            kurtosis=kurtosis,
            trial_variance=variance,
            n_trials=n_trials,
        ),
        min_track_record_bars=min_track_record(sharpe, skew=skew, kurtosis=kurtosis),
        min_backtest_years=min_backtest_years(n_trials),
    )


def _defined(sample: SharpeSample) -> SharpeSample:
    """Read a track that never moves as a ratio of 0 with the moments of a normal distribution."""
    if math.isnan(sample.sharpe):
        return SharpeSample(0.0, sample.n_bars, 0.0, 3.0)
    return sample


def _variants(inputs: AnalysisInputs, own: FloatArray) -> FloatArray:
    """Return test returns (S, V) of the run and of every training that traded the same bars."""
    columns = [own]
    for trained in inputs.results.values():
        if isinstance(trained, RetrainingResult) and not trained.spec.windows:
            returns = np.array(trained.part("test").returns)
            if len(returns) == len(own):
                columns.append(returns)
    return np.stack(columns, axis=1)


def _overfitting(variants: FloatArray, blocks: int) -> float | None:
    """Return the probability of overfitting; None for variants that do not differ, or few bars."""
    if not (variants != variants[:, :1]).any():
        return None
    try:
        return backtest_overfitting(variants, n_blocks=blocks).pbo
    except DataError:
        return None


def _paths(variants: FloatArray, blocks: int, bars_per_year: float) -> tuple[float, ...]:
    """Return annual Sharpe ratios of paths on which the variant was chosen in the other blocks."""
    try:
        folds = combinatorial_purged(len(variants), blocks=blocks)
    except (ConfigError, DataError, MissingExtraError):
        return ()
    fold_returns = np.full((len(folds.folds), len(variants)), np.nan)
    for index, fold in enumerate(folds.folds):
        rows = fold.train_indices()
        ratios = [_ratio_or_zero(column[rows]) for column in variants.T]
        fold_returns[index] = variants[:, int(np.argmax(ratios))]
    found = path_sharpes(folds, fold_returns).sharpes
    factor = math.sqrt(bars_per_year)
    return tuple(0.0 if math.isnan(each) else each * factor for each in found)


def _ratio_or_zero(series: FloatArray) -> float:
    found = sharpe_ratio(series)
    return 0.0 if math.isnan(found) else found


def _superiority(own: FloatArray, baselines: Sequence[FloatArray], draws: int) -> Superiority:
    """Test the agents against each baseline; they are better than the best if than every one."""
    worst = Superiority(0.0, 0.0, 0.0)
    for baseline in baselines:
        if (own == baseline).all():
            return Superiority(1.0, 1.0, 1.0)
        found = superior_ability(own[:, None], baseline, n_draws=draws)
        worst = Superiority(
            max(worst.lower, found.p_lower),
            max(worst.consistent, found.p_consistent),
            max(worst.upper, found.p_upper),
        )
    return worst
