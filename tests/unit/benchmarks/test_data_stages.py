"""The stages, really run, at the smallest size there is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tradingbot_benchmarks.data import stages as data_stages
from tradingbot_benchmarks.data.bench import BASE, STAGES, records
from tradingbot_benchmarks.data.size import Size
from tradingbot_benchmarks.data.stages import measure_stages

TINY = Size(3, 2, "1d")


def test_stages_with_reference_measure_everything_records_need() -> None:
    found = measure_stages(TINY, reference=True)

    assert 3 * 2 * 251 * 0.98 < found["rows"] < 2 * 3 * 2 * 251  # bars, and at most a score each
    times = ["pandas_loop", "panel_build", "panel_load", "stream_p50", "stream_p95", "store"]
    assert all(0 < found[stage] < 60 for stage in (*STAGES, *times))
    assert found["stream_p50"] <= found["stream_p95"]
    assert 50e6 < found["peak_bytes"] < 20e9
    assert len(records({BASE: found})) >= 6


def test_stages_refuse_to_time_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    real = data_stages.compute_features

    def wrong(inputs, specs, **options):
        features = real(inputs, specs, **options)
        name = next(iter(features))
        return {**features, name: features[name] + 1e-3}

    monkeypatch.setattr(data_stages, "compute_features", wrong)

    with pytest.raises(AssertionError):
        measure_stages(TINY, reference=True)


def test_stages_refuse_a_stream_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    real = data_stages.FeatureStream.push

    monkeypatch.setattr(
        data_stages.FeatureStream, "push", lambda self, *bar: real(self, *bar) * (1 + 1e-6)
    )

    with pytest.raises(AssertionError, match="stream differs from batch"):
        measure_stages(TINY, reference=True)


def test_stages_run_as_a_process_write_one_object() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tradingbot_benchmarks.data.stages", "2", "2", "1d"],
        capture_output=True,
        text=True,
        check=True,
    )

    found = json.loads(done.stdout)
    assert {*STAGES, "rows", "peak_bytes"} <= set(found)
    assert "pandas_loop" not in found


@pytest.mark.parametrize(
    ("size", "label"), [(Size(143, 2), "143x2y"), (Size(1000, 10, "1d"), "1000x10y_daily")]
)
def test_size_label_says_symbols_years_and_days(size: Size, label: str) -> None:
    assert size.label == label
