"""Is it luck? The agents' alpha on the test part under every statistic, deflated by all trials.

With the market in it, a probability of skill is mostly that of the market's luck: a policy that was
long most of the time and earned less than holding was given 99 %. The net return is shown beside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.folds import combinatorial_purged
from tradingbot.domain.errors import ConfigError, DataError, MissingExtraError
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import Performance
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.retraining.spec import RetrainingResult
from tradingbot.evaluation.analyses.settings import StatisticsSettings
from tradingbot.evaluation.dossier.evidence import Statistics
from tradingbot.evaluation.performance.matched_exposure import share_at_exposure_of
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.evaluation.statistics import deflation
from tradingbot.evaluation.statistics.dependence import effective_bars
from tradingbot.evaluation.statistics.overfitting import backtest_overfitting
from tradingbot.evaluation.statistics.paths import path_sharpes
from tradingbot.evaluation.statistics.policy_intervals import sharpe_interval
from tradingbot.evaluation.statistics.sharpe import (
    MIN_BARS,
    SharpeSample,
    measure_sharpe,
    min_track_record,
    probabilistic_sharpe,
    sharpe_ratio,
)
from tradingbot.evaluation.statistics.superior import superior_ability

FloatArray = NDArray[np.float64]


def measure_statistics(inputs: AnalysisInputs, settings: StatisticsSettings) -> Statistics:
    """Ask every statistic.

    Args:
        inputs: With `performance`, trainings of the same split, and as facts the Sharpe ratio per
            bar of every trial in the ledger.
        settings: How fine.
    """
    performance: Performance = inputs.results["performance"]
    agents = performance.series(AGENTS)
    own, portfolio = np.array(agents.alpha), np.array(agents.portfolio)
    net = measure_sharpe(portfolio)
    baselines = _baselines(performance, inputs.subject)
    variants = _variants(inputs, own)
    lower, consistent, upper = _superiority(own, list(baselines.values()), settings.draws)
    return Statistics(
        **_deflation(own, inputs.facts or [None]),
        overfitting_probability=_overfitting(variants, settings.overfitting_blocks),
        overfitting_variants=variants.shape[1],
        path_sharpe_annual=_paths(variants, settings.path_blocks, inputs.subject.bars_per_year),
        spa_p_lower=lower,
        spa_p_consistent=consistent,
        spa_p_upper=upper,
        spa_against=tuple(baselines),
        judged=f"alpha against {performance.parts[-1].factor}",
        sharpe_annual=sharpe_interval(own, inputs.subject.bars_per_year),
        net_sharpe_per_bar=0.0 if math.isnan(net.sharpe) else net.sharpe,
        net_probabilistic_sharpe=_net_probability(net, _proving_bars(portfolio)),
    )


def _baselines(performance: Performance, subject: EvaluatedRun) -> dict[str, FloatArray]:
    """Return alpha (S,) of every baseline, at no more exposure than the agents have.

    Allocation rules over sleeves of trained agents are none: what agents learned is in them, and
    with it the edge that is asked for. Whether the master adds to it is a question of its own.
    """
    test = performance.parts[-1]
    rows = {row.policy: row for row in test.policies}
    learned = isinstance(subject, PortfolioRun) and bool(subject.chain.record.run)
    return {
        each.policy: np.array(each.alpha) * share_at_exposure_of(rows[AGENTS], rows[each.policy])
        for each in performance.test_series
        if each.kind == "baseline" and not (learned and each.policy in ALLOCATION_RULES)
    }


def _net_probability(net: SharpeSample, n_bars: float) -> float:
    """Return the probability that the net return's Sharpe ratio is above 0; ½ if it never moves."""
    if math.isnan(net.sharpe):
        return 0.5
    return probabilistic_sharpe(net.sharpe, n_bars=n_bars, skew=net.skew, kurtosis=net.kurtosis)


def _deflation(own: FloatArray, trials: Sequence[float | None]) -> dict[str, Any]:
    """Deflate the Sharpe ratio of returns (S,) by the ratios per bar of all trials.

    A track that never moves is read as a ratio of 0 with the moments of a normal distribution.

    Returns:
        Fields of `Statistics` that follow from one track and the trials before it.
    """
    sample, n_trials = measure_sharpe(own), len(trials)
    n_bars = _proving_bars(own)
    defined = not math.isnan(sample.sharpe)
    sharpe = sample.sharpe if defined else 0.0
    moments: dict[str, Any] = {
        "skew": sample.skew if defined else 0.0,
        "kurtosis": sample.kurtosis if defined else 3.0,
    }
    variance = deflation.trial_variance(trials, bars=round(n_bars))
    trialled: dict[str, Any] = {"trial_variance": variance, "n_trials": n_trials}
    return {
        "bars": len(own),
        "effective_bars": n_bars,
        "sharpe_per_bar": sharpe,
        "skewness": moments["skew"],
        "kurtosis": moments["kurtosis"],
        "probabilistic_sharpe": probabilistic_sharpe(sharpe, n_bars=n_bars, **moments),
        "n_trials": n_trials,
        "trial_deviation": math.sqrt(variance),
        "expected_best_sharpe": deflation.deflated_target(**trialled),
        "deflated_sharpe": deflation.deflated_sharpe(sharpe, n_bars=n_bars, **moments, **trialled),
        "min_track_record_bars": min_track_record(sharpe, **moments) * len(own) / n_bars,
        "min_backtest_years": deflation.min_backtest_years(n_trials),
    }


def _proving_bars(series: FloatArray) -> float:
    """Return how many independent bars a series (S,) counts as.

    Bars that go together prove less: taken for independent, 11 % of series without skill pass 0.95
    at autocorrelation 0.3.
    """
    return max(effective_bars(series), float(MIN_BARS))


def _variants(inputs: AnalysisInputs, own: FloatArray) -> FloatArray:
    """Return alpha (S, V) of the run and of every training that traded the same test bars."""
    columns = [own]
    for trained in inputs.results.values():
        if isinstance(trained, RetrainingResult) and not trained.spec.windows:
            returns = np.array(trained.part("test").alpha)
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
        ratios = np.nan_to_num([sharpe_ratio(column[rows]) for column in variants.T])
        fold_returns[index] = variants[:, int(np.argmax(ratios))]
    found = path_sharpes(folds, fold_returns).sharpes
    factor = math.sqrt(bars_per_year)
    return tuple(0.0 if math.isnan(each) else each * factor for each in found)


def _superiority(own: FloatArray, baselines: Sequence[FloatArray], draws: int) -> list[float]:
    """Return p-values (lower, consistent, upper) of: the agents are no better than the best.

    They are better than the best baseline if than every one.
    """
    worst = [0.0, 0.0, 0.0]
    for baseline in baselines:
        if (own == baseline).all():
            return [1.0, 1.0, 1.0]
        found = superior_ability(own[:, None], baseline, n_draws=draws)
        pairs = zip(worst, (found.p_lower, found.p_consistent, found.p_upper), strict=True)
        worst = [max(pair) for pair in pairs]
    return worst
