"""Records of tuning: beside random search, and trials together beside trials alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import MissingExtraError
from tradingbot.tuning.optuna_study import require_optuna
from tradingbot_benchmarks.record import BenchRecord

QUICK_TRIALS, QUICK_SEEDS = 10, 2


def measure_tuning(progress: Progress, *, quick: bool) -> Iterator[BenchRecord]:
    """Yield the records as they come; without Optuna one that says so."""
    try:
        require_optuna()
    except MissingExtraError as e:
        yield BenchRecord("tune_vs_random", nan, "ratio", note=str(e))
        return
    from tradingbot_benchmarks.tuning.samplers import (
        SEEDS,
        TRIALS,
        measure_samplers,
        sampler_records,
    )
    from tradingbot_benchmarks.tuning.together import measure_together

    yield from measure_together(progress)
    seeds, trials = (QUICK_SEEDS, QUICK_TRIALS) if quick else (SEEDS, TRIALS)
    yield from sampler_records(measure_samplers(progress, seeds=range(seeds), trials=trials))
