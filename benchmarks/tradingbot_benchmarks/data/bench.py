"""The data benchmark: budgets at 143 symbols × 2 years, and how time and memory grow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from statistics import median

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import MissingExtraError
from tradingbot_benchmarks.data.size import Size
from tradingbot_benchmarks.record import BenchRecord, against

STAGES = ("generate", "validate", "features")
# Seconds that the stages may take at 143 symbols × 2 years on two cores; memory in bytes.
BUDGETS = {"generate": 5.0, "validate": 3.0, "features": 3.0, "panel_load": 0.5}
MEMORY_BUDGET_BYTES = 1.5e9
STREAM_BUDGET_S = 1e-3
REPEATS = 3


BASE = Size(143, 2)
CURVE = (Size(143, 5), Size(143, 10), Size(1000, 10, "1d"))

Measured = Mapping[Size, Mapping[str, float]]


def measure(*, curve: bool = True, progress: Progress = ignore_progress) -> Measured:
    """Measure the base size, and the curve if wanted: medians of runs in fresh processes.

    Raises:
        MissingExtraError: If the packages of the reference loop are not installed.
    """
    for module, package in (("talib", "TA-Lib"), ("pandas", "pandas")):
        if find_spec(module) is None:
            raise MissingExtraError("bench", package=package)
    sizes = (BASE, *CURVE) if curve else (BASE,)
    measured: dict[Size, dict[str, float]] = {}
    for number, size in enumerate(sizes):
        progress(number, len(sizes), size.label)
        runs = [_run(size, reference=size == BASE) for _ in range(REPEATS)]
        measured[size] = {figure: median(run[figure] for run in runs) for figure in runs[0]}
    progress(len(sizes), len(sizes), "measured")
    return measured


def records(measured: Measured) -> list[BenchRecord]:
    """Turn measurements into records: the base size first, then growth per bar."""
    base = measured[BASE]
    found = [
        BenchRecord("generate_143x2y", base["generate"], "s", BUDGETS["generate"], "budget"),
        BenchRecord("validate_143x2y", base["validate"], "s", BUDGETS["validate"], "budget"),
        against(
            "features_143x2y",
            base["features"],
            "s",
            base["pandas_loop"],
            "pandas + TA-Lib loop",
        ),
        BenchRecord("panel_load", base["panel_load"], "s", BUDGETS["panel_load"], "budget"),
        BenchRecord("stream_bar_143", base["stream_p95"], "s", STREAM_BUDGET_S, "budget"),
        BenchRecord("panel_build_143x2y", base["panel_build"], "s"),
        BenchRecord(
            "peak_memory_143x2y", base["peak_bytes"], "bytes", MEMORY_BUDGET_BYTES, "budget"
        ),
    ]
    for size, figures in measured.items():
        if size != BASE:
            found += _growth(size, figures, base)
    return [_with_ratio(record) for record in found]


def _growth(
    size: Size, figures: Mapping[str, float], base: Mapping[str, float]
) -> list[BenchRecord]:
    """Compare with growth in proportion to bars and scores: ≥ 1 is no worse than linear."""
    factor = figures["rows"] / base["rows"]
    return [
        against(
            f"{stage.removesuffix('_bytes')}_{size.label}",
            figures[stage],
            "bytes" if stage == "peak_bytes" else "s",
            base[stage] * factor,
            "linear from 143x2y",
        )
        for stage in (*STAGES, "peak_bytes")
    ]


def _with_ratio(record: BenchRecord) -> BenchRecord:
    if record.reference is None or record.ratio is not None:
        return record
    return against(record.name, record.value, record.unit, record.reference, record.reference_name)


def _run(size: Size, *, reference: bool) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "tradingbot_benchmarks.data.stages",
        str(size.symbols),
        str(size.years),
        size.timeframe,
        *(["reference"] if reference else []),
    ]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(finished.stdout)
    return result
