"""Records of tuning: beside random search, and trials together beside trials alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import MissingExtraError
from tradingbot.tuning.optuna_study import require_optuna
from tradingbot_benchmarks.record import BenchRecord


def measure_tuning(progress: Progress, *, quick: bool) -> Iterator[BenchRecord]:
    """Yield the records as they come; without Optuna, and of a quick look, one that says so."""
    try:
        require_optuna()
    except MissingExtraError as e:
        yield BenchRecord("tune_vs_random", nan, "ratio", note=str(e))
        return
    from tradingbot_benchmarks.tuning.samplers import measure_samplers, sampler_records
    from tradingbot_benchmarks.tuning.together import measure_together

    yield from measure_together(progress)
    if quick:
        note = "not measured: the first trials are drawn at random by either, few tell nothing"
        yield BenchRecord("tune_vs_random", nan, "ratio", note=note)
        return
    yield from sampler_records(measure_samplers(progress))
