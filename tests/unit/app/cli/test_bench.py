"""`tradingbot bench data`: records for machines, a table and a curve for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.app.bench import data_bench
from tradingbot.app.bench.size import Size
from tradingbot.app.cli.bench import _show

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
    [(None, "s", ""), (2.5, "s", "2.500 s"), (5e-4, "s", "0.500 ms"), (1.5e9, "bytes", "1,500 MB")],
)
def test_figures_are_shown_in_units_people_read(value: float | None, unit: str, shown: str) -> None:
    assert _show(value, unit) == shown
