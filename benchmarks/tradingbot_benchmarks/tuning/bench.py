"""Records of tuning: beside random search, and trials together beside trials alone."""

from __future__ import annotations

from math import nan

from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import MissingExtraError
from tradingbot.tuning.optuna_study import require_optuna
from tradingbot_benchmarks.record import BenchRecord

QUICK_TRIALS, QUICK_SEEDS = 10, 2


def measure_tuning(progress: Progress, *, quick: bool) -> list[BenchRecord]:
    """Return the records; without Optuna one that says so."""
    try:
        require_optuna()
    except MissingExtraError as e:
        return [BenchRecord("tune_vs_random", nan, "ratio", note=str(e))]
    from tradingbot_benchmarks.tuning.samplers import (
        SEEDS,
        TRIALS,
        measure_samplers,
        sampler_records,
    )
    from tradingbot_benchmarks.tuning.together import measure_together

    joint = measure_together(progress)
    seeds, trials = (QUICK_SEEDS, QUICK_TRIALS) if quick else (SEEDS, TRIALS)
    return [*joint, *sampler_records(measure_samplers(progress, seeds=range(seeds), trials=trials))]
