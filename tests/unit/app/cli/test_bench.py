"""`tradingbot bench`: records for machines, tables and curves for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.simulator_figures import fabricated as fabricated_run
from tradingbot_benchmarks.cli.table import show_figure
from tradingbot_benchmarks.data import bench as data_bench
from tradingbot_benchmarks.data.size import Size
from tradingbot_benchmarks.simulator import measure as simulator_measure
from tradingbot_benchmarks.simulator.measure import Measured
from tradingbot_benchmarks.simulator.scale import FULL, QUICK, Scale

FIGURES = {
    "generate": 2.0,
    "validate": 1.5,
    "features": 1.0,
    "pandas_loop": 8.0,
    "panel_load": 0.05,
    "panel_build": 2.0,
    "stream_p95": 5e-4,
    "rows": 5e5,
    "peak_bytes": 1e9,
}


@pytest.fixture(autouse=True)
def fabricated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements that take no minutes; `test_data_stages` makes real ones."""

    def measured(size: Size, *, reference: bool) -> dict[str, float]:
        factor = size.symbols * size.years / 286
        return {name: value * factor for name, value in FIGURES.items()}

    monkeypatch.setattr(data_bench, "_run", measured)


def test_json_is_a_list_of_records_with_the_names_asked_for(call) -> None:
    records = {record["name"]: record for record in call("bench", "data", "--json").document}

    required = ["generate_143x2y", "validate_143x2y", "features_143x2y"]
    required += ["panel_load", "stream_bar_143"]
    assert set(required) <= set(records)
    assert records["features_143x2y"]["ratio"] == 8.0
    assert {records[name]["unit"] for name in required} == {"s"}
    assert records["generate_143x10y"]["ratio"] == pytest.approx(1.0)


def test_quick_measures_only_the_base_size(call) -> None:
    names = [record["name"] for record in call("bench", "data", "--quick", "--json").document]

    assert not any("10y" in name for name in names)


def test_table_names_the_machine_and_says_synthetic(call) -> None:
    answer = call("bench", "data", "--quick")

    assert "synthetic bars" in answer.out
    assert "pandas + TA-Lib loop" in answer.out.replace("\n", " ")
    assert "processor:" in answer.err
    assert "1,000 MB" in answer.out


def test_curve_is_drawn_where_asked(call, tmp_path: Path) -> None:
    file = tmp_path / "curve.png"

    assert call("bench", "data", "--curve", str(file)).code == 0

    assert file.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "s", ""),
        (2.5, "s", "2.500 s"),
        (5e-4, "s", "0.500 ms"),
        (1.5e9, "bytes", "1,500 MB"),
        (164.0, "bytes", "164 B"),
        (float("nan"), "steps/s", "–"),
        (10.24e6, "steps/s", "10,240,000 steps/s"),
        (40.0, "×", "40 ×"),
        (0.062, "fraction of time", "0.062 fraction of time"),
        (-0.01, "fraction", "-0.01 fraction"),
        (12e9, "bytes/s", "12.0 GB/s"),
    ],
)
def test_figures_are_shown_in_units_people_read(value: float | None, unit: str, shown: str) -> None:
    assert show_figure(value, unit) == shown


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Scale]:
    """The scales that a run of `bench simulator` asks for; the run itself is fabricated."""
    scales: list[Scale] = []

    def measured(scale: Scale, progress: object) -> Measured:
        scales.append(scale)
        return fabricated_run()

    monkeypatch.setattr(simulator_measure, "measure", measured)
    return scales


def test_simulator_json_is_a_list_of_records_with_the_names_asked_for(call, asked) -> None:
    records = {record["name"]: record for record in call("bench", "simulator", "--json").document}

    required = ["batch_4096", "batch_65536", "single_env", "parallel_143"]
    ratios = ["vs_gym_anytrading", "vs_gym_trading_env", "vs_finrl"]
    assert {records[name]["unit"] for name in required} == {"steps/s"}
    assert [records[name]["value"] for name in ratios] == pytest.approx([40.0, 160.0, 1000.0])
    assert asked == [FULL]


def test_simulator_quick_measures_less(call, asked) -> None:
    assert call("bench", "simulator", "--quick", "--json").code == 0

    assert asked == [QUICK]


def test_simulator_table_says_synthetic_limits_and_machine(call, asked) -> None:
    answer = call("bench", "simulator")

    assert "synthetic bars" in answer.out
    assert "At 64 environments calling takes most of a step" in answer.err
    assert "2 threads" in answer.out
    assert "processor:" in answer.err


def test_simulator_figure_is_drawn_where_asked(call, asked, tmp_path: Path) -> None:
    file = tmp_path / "speed.png"

    assert call("bench", "simulator", "--figure", str(file)).code == 0

    assert file.read_bytes()[:4] == b"\x89PNG"


def test_simulator_figure_that_is_no_png_is_refused_before_measuring(call, asked) -> None:
    answer = call("bench", "simulator", "--figure", "speed.txt")

    assert answer.code == 2
    assert "--figure must name a .png file" in answer.err
    assert asked == []


@pytest.mark.parametrize(("load", "warned"), [(0.1, False), (1.4, True)])
def test_simulator_warns_of_a_busy_machine(
    call, asked, monkeypatch: pytest.MonkeyPatch, *, load: float, warned: bool
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))

    answer = call("bench", "simulator", "--json")

    assert ("The machine is busy (load 1.4)" in answer.err) is warned
