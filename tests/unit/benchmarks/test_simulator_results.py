"""The section of RESULTS.md and the curves, from records alone."""

from __future__ import annotations

import importlib.util
import json
import math
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

from fixtures.simulator_figures import SIZES, fabricated
from tradingbot.data.json_files import as_json
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.simulator.bench import absent, records
from tradingbot_benchmarks.simulator.results import (
    HEADING,
    limits_of,
    replace_section,
    say_limits,
    simulator_section,
    speed_curves,
)

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
MACHINE = {
    "processor": "AMD EPYC",
    "cores": "2",
    "memory": "24 GiB",
    "system": "Linux x86_64",
    "python": "3.11.7",
    "packages": "tradingbot 0.1.0",
}
GPU = {
    "device": "NVIDIA H200",
    "versions": "torch 2.13.0",
    "points": [
        {
            "name": "cuda_graph_65536",
            "program": "graph",
            "lanes": 65_536,
            "steps_per_s": 4e8,
            "bound_steps_per_s": 8e9,
        },
        {
            "name": "cuda_compiled_65536",
            "program": "compiled",
            "lanes": 65_536,
            "steps_per_s": 2e8,
            "bound_steps_per_s": 8e9,
        },
    ],
}


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def section(gpu: dict[str, object] | None = None) -> str:
    return simulator_section(
        records(fabricated()), MACHINE, measured_on=date(2026, 11, 15), gpu=gpu
    )


def test_limits_split_a_step_into_shares_that_sum_to_one() -> None:
    found = limits_of(records(fabricated()))

    assert list(found) == list(SIZES)
    for lanes, shares in found.items():
        assert sum(shares.values()) == pytest.approx(1.0)
        assert shares["calling"] == pytest.approx(96e-6 / SIZES[lanes])
    assert found[4096]["moving bytes"] == pytest.approx(10.24e6 / 20e6)
    assert found[4096]["arithmetic"] == pytest.approx(1 - 0.24 - 0.512)


def test_limits_of_a_step_faster_than_a_copy_leave_no_arithmetic() -> None:
    found = [
        BenchRecord("growth_environments_64", 64e4, "steps/s", 32e4, "memory bound", 2.0),
        BenchRecord("call_overhead", 4e-5, "s"),
    ]

    expected = {"calling": 0.4, "moving bytes": 0.6, "arithmetic": 0.0}
    assert limits_of(found)[64] == pytest.approx(expected)


def test_limits_are_said_by_what_takes_most() -> None:
    said = say_limits(records(fabricated()))

    assert "At 64 environments calling takes most of a step (calling 96%" in said
    assert "At 65,536 environments moving bytes takes most" in said


def test_limits_without_growth_say_nothing() -> None:
    assert limits_of([BenchRecord("batch_4096", 1.0, "steps/s")]) == {}
    assert say_limits([]) == ""


def test_section_has_machine_records_remarks_and_limits() -> None:
    text = section()

    assert text.startswith(HEADING)
    assert "AMD EPYC, 2 cores, 24 GiB" in text
    assert "| `batch_4096` | 10.2 M/s | 30 M/s | goal | 0.341 |" in text
    assert "`growth_environments_4096`" in text
    assert "What limits: At 64 environments" in text
    assert "GPU" not in text


def test_section_with_gpu_has_its_points_and_shares() -> None:
    text = section(GPU)

    assert "NVIDIA H200" in text
    assert "| `cuda_graph_65536` | 400 M/s | 8 G/s | 5% |" in text


def test_section_shows_absent_figures_as_a_dash_with_reason() -> None:
    text = simulator_section(
        [absent("vs_finrl", "×", "not installed")], MACHINE, measured_on=date(2026, 1, 1)
    )

    assert "| `vs_finrl` | – |  |  |  | not installed |" in text


def test_replace_section_appends_once_and_then_replaces() -> None:
    page = "# Results\n\n## Data\n\nrows\n"

    once = replace_section(page, f"{HEADING}\n\nold\n")
    twice = replace_section(once, f"{HEADING}\n\nnew\n")

    assert once == f"{page}\n{HEADING}\n\nold\n"
    assert twice == f"{page}\n{HEADING}\n\nnew\n"
    between = replace_section(f"{once}\n## Later\n\nkept\n", f"{HEADING}\n\nnew\n")
    assert between == f"{page}\n{HEADING}\n\nnew\n\n## Later\n\nkept\n"


def test_curves_are_read_from_records_without_absent_ones() -> None:
    found = [*records(fabricated()), absent("growth_environments_9", "steps/s", "no")]

    curves = speed_curves(found, GPU)

    assert [lanes for lanes, _ in curves.environments["compiled"]] == list(SIZES)
    assert curves.environments["GPU"] == [(65_536.0, 4e8)]
    assert [speed for _, speed in curves.bound] == pytest.approx([20e6] * 4)
    assert curves.peers == {"gym-anytrading": 256e3, "gym-trading-env": 64e3, "FinRL": 10.24e3}
    assert curves.windows == [(24.0, 4e6)]


def test_script_writes_section_and_picture_from_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored, gpu = tmp_path / "simulator.json", tmp_path / "gpu.json"
    page, picture = tmp_path / "RESULTS.md", tmp_path / "speed.png"
    found = [*records(fabricated()), absent("vs_other", "×", "not installed")]
    stored.write_text(json.dumps(as_json(found)))
    gpu.write_text(json.dumps(GPU))
    page.write_text("# Results\n")
    script = load_script("write_results")
    options = ["--gpu", str(gpu), "--page", str(page), "--figure", str(picture)]
    monkeypatch.setattr("sys.argv", ["write_results.py", str(stored), *options])

    script.main()

    assert "NVIDIA H200" in page.read_text()
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert str(page) in capsys.readouterr().out
    assert math.isnan(script.read_records(stored)[-1].value)
