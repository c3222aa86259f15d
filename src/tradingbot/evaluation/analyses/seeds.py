"""Other seeds: what of a result is the configuration's, and what is luck of the draw."""

from __future__ import annotations

import math

import numpy as np

from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import Performance
from tradingbot.evaluation.analyses.retraining.spec import RetrainingResult, RetrainingSpec
from tradingbot.evaluation.analyses.settings import SeedsSettings
from tradingbot.evaluation.dossier.analysis import SeedRow, Seeds
from tradingbot.evaluation.metrics.returns import total_return
from tradingbot.evaluation.performance.measure import annual_sharpe_or_zero
from tradingbot.evaluation.performance.record import HOLD
from tradingbot.evaluation.statistics.bootstrap import sharpe_of
from tradingbot.evaluation.statistics.shared_bars import runs_interval


def other_seeds(subject: EvaluatedRun, count: int) -> tuple[int, ...]:
    """Return seeds that follow the run's own."""
    root = subject.run.record.seeds["root"]
    return tuple((root + number) % 2**63 for number in range(1, count + 1))


def seed_specs(subject: EvaluatedRun, settings: SeedsSettings) -> tuple[RetrainingSpec, ...]:
    """Return the trainings that differ from the run in nothing but seed and budget."""
    seeds = other_seeds(subject, settings.count)
    return tuple(RetrainingSpec(seed, settings.steps_share_frac) for seed in seeds)


def measure_seeds(inputs: AnalysisInputs, settings: SeedsSettings) -> Seeds:
    """Compare the trainings with each other and with equal weight, on the test part."""
    performance: Performance = inputs.results["performance"]
    specs = seed_specs(inputs.subject, settings)
    trainings: list[RetrainingResult] = [inputs.need(spec.name) for spec in specs]
    rows = tuple(_row(each, inputs.subject.bars_per_year) for each in trainings)
    parts = [each.part("test") for each in trainings]
    net = np.array([part.sleeve_returns for part in parts])
    hold = np.array(performance.series(HOLD).sleeves)
    sharpe = runs_interval([part.returns for part in parts], sharpe_of)
    return Seeds(
        steps_per_agent=trainings[0].steps_per_agent,
        rows=rows,
        net_bps_iqm=runs_interval(net).scaled(1e4),
        sharpe_iqm=sharpe.scaled(math.sqrt(inputs.subject.bars_per_year)),
        beats_hold=runs_interval(net - hold, aggregate="positive"),
        alpha_bps_iqm=runs_interval([part.alpha for part in parts]).scaled(1e4),
    )


def _row(trained: RetrainingResult, bars_per_year: float) -> SeedRow:
    test = trained.part("test")
    returns = np.array(test.returns)
    return SeedRow(
        seed=trained.spec.seed,
        net_bps_per_bar=test.net_bps_per_bar,
        sharpe_annual=annual_sharpe_or_zero(returns, bars_per_year),
        total_return_frac=total_return(returns),
        trading_agents=trained.trading_agents,
        failed=trained.failed,
        alpha_bps_per_bar=test.alpha_bps_per_bar,
    )
