"""The stages of the data pipeline, timed at one size in a process of their own.

A process of its own, because peak memory is a property of a process and nothing may be warm.
Run as `python -m tradingbot_benchmarks.data.stages SYMBOLS YEARS TIMEFRAME [reference]`; it writes
one JSON object of seconds, bytes and counts to stdout.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

import numpy as np

from tradingbot.data.quality.validation import validate
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.universes import load_universe
from tradingbot.domain.universe import Member, Universe
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import FloatArray, MarketInputs
from tradingbot.features.panel import Panel, build_panel, panel_specs
from tradingbot.features.pipeline import read_inputs
from tradingbot.features.streaming import FeatureStream
from tradingbot_benchmarks.data.size import Size

_END = date(2025, 10, 1)
_STREAMED_BARS = 500
Result = TypeVar("Result")


def measure_stages(size: Size, *, reference: bool) -> dict[str, float]:
    """Run every stage once, cold; return seconds by stage, `rows` (bars and scores), `peak_bytes`.

    Args:
        size: How much data; 143 symbols take the names of `us143`, other counts made-up names.
        reference: Also check against and time the per-symbol pandas + TA-Lib loop, and time the
            stream.

    Raises:
        AssertionError: If results that must be equal are not: a wrong result has no speed.
    """
    import torch  # imported before any clock runs: loading it is not our work

    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        dataset = _generate(seconds, BarStore(Path(folder)), size)
        inputs, features = _timed(seconds, "features", lambda: _features(dataset))
        _time_panel(seconds, inputs, dataset, Path(folder))
        # Before the comparison: the reference loop's memory is not ours.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if reference:
            _check_reference(seconds, dataset, features)
            _check_stream(seconds, inputs, features)
        scores = dataset.load_covariates().height
        rows = dataset.manifest.rows + scores
    return {**seconds, "rows": rows, "peak_bytes": peak, "torch_threads": torch.get_num_threads()}


def _generate(seconds: dict[str, float], store: BarStore, size: Size) -> Dataset:
    start = _END.replace(year=_END.year - size.years)
    source = SyntheticSource(_universe(size.symbols), start, _END, timeframe=size.timeframe)
    raw = _timed(seconds, "generate", source.fetch)
    report = _timed(
        seconds,
        "validate",
        lambda: validate(raw.bars, raw.covariates, provenance=raw.provenance),
    )
    assert report.ready, report.summary_rows()
    return _timed(
        seconds,
        "store",
        lambda: store.save(raw.bars, raw.provenance, covariates=raw.covariates),
    )


def _features(dataset: Dataset) -> tuple[MarketInputs, dict[str, FloatArray]]:
    inputs = read_inputs(dataset)
    return inputs, compute_features(inputs, panel_specs(inputs.covariates), dtype=np.float32)


def _check_reference(
    seconds: dict[str, float], dataset: Dataset, features: dict[str, FloatArray]
) -> None:
    from tradingbot_benchmarks.data.pandas_reference import reference_features

    bars, covariates = dataset.load_bars().to_pandas(), dataset.load_covariates().to_pandas()
    expected = _timed(seconds, "pandas_loop", lambda: reference_features(bars, covariates))
    for name, values in features.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-6, atol=1e-9, err_msg=name)


def _check_stream(
    seconds: dict[str, float], inputs: MarketInputs, features: dict[str, FloatArray]
) -> None:
    specs = panel_specs(inputs.covariates)
    stream = FeatureStream(inputs.symbols, specs, time_zone=inputs.time_zone)
    elapsed = []
    length = inputs.shape[0]
    joined = _joined(inputs)
    for row in range(length):
        bars = {name: values[row] for name, values in inputs.bars.items()}
        covariates = {name: values[row] for name, values in joined.items()}
        start = time.perf_counter()
        pushed = stream.push(inputs.closed_at[row], inputs.present[row], bars, covariates)
        elapsed.append(time.perf_counter() - start)
        if row >= length - _STREAMED_BARS:
            batch = np.stack([features[spec.name][row] for spec in specs], axis=1)
            assert pushed.astype(np.float32).tobytes() == batch.tobytes(), (
                f"stream differs from batch at row {row}"
            )
    seconds["stream_p50"] = float(np.percentile(elapsed[-_STREAMED_BARS:], 50))
    seconds["stream_p95"] = float(np.percentile(elapsed[-_STREAMED_BARS:], 95))


def _joined(inputs: MarketInputs) -> dict[str, FloatArray]:
    from tradingbot.features.inputs import join_as_of

    width = inputs.shape[1]
    return {
        name: join_as_of(events, inputs.closed_at, width)
        for name, events in inputs.covariates.items()
    }


def _time_panel(
    seconds: dict[str, float], inputs: MarketInputs, dataset: Dataset, root: Path
) -> None:
    specs = panel_specs(inputs.covariates)
    digest = dataset.manifest.content_sha256
    panel = _timed(
        seconds,
        "panel_build",
        lambda: build_panel(inputs, specs, dataset_hash=digest, root=root, synthetic=True),
    )
    folder = panel.folder

    def load() -> float:
        # Verified, as it is behind the gate; the certificate itself takes a millisecond.
        tensors = Panel.open(folder, require_certificate=False, verify=True).tensors()
        return float(sum(tensor.sum() for tensor in tensors.values()))  # every byte is read

    _timed(seconds, "panel_load", load)


def _timed(seconds: dict[str, float], stage: str, work: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = work()
    seconds[stage] = time.perf_counter() - start
    return result


def _universe(symbols: int) -> Universe:
    known = load_universe("us143")
    if symbols == len(known.symbols):
        return known
    return Universe(f"made-up-{symbols}", tuple(Member(f"S{n:04d}") for n in range(symbols)))


if __name__ == "__main__":
    asked = Size(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    result = measure_stages(asked, reference=sys.argv[4:] == ["reference"])
    sys.stdout.write(json.dumps(result) + "\n")
