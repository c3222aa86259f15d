"""Benchmark records: names, ratios, growth, and the machine they come from."""

from __future__ import annotations

import pytest

from tradingbot.domain.errors import MissingExtraError
from tradingbot_benchmarks.data import bench as data_bench
from tradingbot_benchmarks.data.bench import BASE, BUDGETS, CURVE, measure, records
from tradingbot_benchmarks.data.size import Size
from tradingbot_benchmarks.record import BenchRecord, against, describe_machine

FIGURES = {
    "generate": 2.0,
    "validate": 1.5,
    "features": 1.0,
    "pandas_loop": 8.0,
    "panel_load": 0.25,
    "panel_build": 2.0,
    "stream_p95": 5e-4,
    "rows": 5e5,
    "peak_bytes": 1e9,
}
REQUIRED = ("generate_143x2y", "validate_143x2y", "features_143x2y", "panel_load", "stream_bar_143")


def by_name(measured: data_bench.Measured) -> dict[str, BenchRecord]:
    found = {record.name: record for record in records(measured)}
    assert len(found) == len(records(measured))
    return found


def test_records_have_the_names_values_and_units_that_are_asked_for() -> None:
    found = by_name({BASE: FIGURES})

    assert set(REQUIRED) <= set(found)
    assert {found[name].unit for name in REQUIRED} == {"s"}
    assert [found[name].value for name in REQUIRED] == [2.0, 1.5, 1.0, 0.25, 5e-4]


def test_features_ratio_is_against_the_pandas_loop_and_others_against_budgets() -> None:
    found = by_name({BASE: FIGURES})

    features = found["features_143x2y"]
    assert (features.ratio, features.reference) == (8.0, 8.0)
    assert "pandas" in features.reference_name
    for name, stage in (("generate_143x2y", "generate"), ("validate_143x2y", "validate")):
        assert found[name].ratio == BUDGETS[stage] / FIGURES[stage]
        assert found[name].reference_name == "budget"
    assert found["stream_bar_143"].ratio == pytest.approx(2.0)
    assert found["peak_memory_143x2y"].ratio == pytest.approx(1.5)
    assert found["panel_build_143x2y"].ratio is None


def test_budgets_are_those_of_the_product() -> None:
    assert BUDGETS == {"generate": 5.0, "validate": 3.0, "features": 3.0, "panel_load": 0.5}
    assert data_bench.MEMORY_BUDGET_BYTES == 1.5e9
    assert data_bench.STREAM_BUDGET_S == 1e-3


def test_growth_is_judged_against_proportional_growth() -> None:
    tenfold = {**FIGURES, "rows": 5e6, "generate": 10.0, "features": 20.0, "peak_bytes": 4e9}

    found = by_name({BASE: FIGURES, Size(143, 10): tenfold})

    assert found["generate_143x10y"].ratio == pytest.approx(2.0)  # half of linear
    assert found["features_143x10y"].ratio == pytest.approx(0.5)  # twice linear
    assert found["peak_143x10y"].ratio == pytest.approx(2.5)
    assert found["peak_143x10y"].unit == "bytes"
    assert "features_143x2y" in found


def test_curve_has_the_sizes_that_are_asked_for() -> None:
    labels = {size.label for size in (BASE, *CURVE)}

    assert {"143x2y", "143x10y", "1000x10y_daily"} <= labels


def test_against_divides_reference_by_value() -> None:
    assert against("x", 0.5, "s", 2.0, "loop") == BenchRecord("x", 0.5, "s", 2.0, "loop", 4.0)


def test_machine_description_says_cores_memory_and_versions() -> None:
    machine = describe_machine()

    assert int(machine["cores"]) >= 1
    assert machine["memory"].endswith(" GiB")
    assert "polars" in machine["packages"]
    assert all(machine.values())


def test_measure_without_talib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_bench, "find_spec", lambda name: None)

    with pytest.raises(MissingExtraError, match="make install EXTRA=bench"):
        measure(curve=False)


@pytest.mark.parametrize(("curve", "sizes"), [(False, [BASE]), (True, [BASE, *CURVE])])
def test_measure_runs_each_size_and_compares_at_the_base(
    *, curve: bool, sizes: list[Size], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Size, bool]] = []
    told: list[tuple[int, int]] = []

    def remember(size: Size, *, reference: bool) -> dict[str, float]:
        asked.append((size, reference))
        return dict(FIGURES)

    monkeypatch.setattr(data_bench, "_run", remember)

    measured = measure(curve=curve, progress=lambda done, of, _: told.append((done, of)))

    assert asked == [(size, size == BASE) for size in sizes for _ in range(data_bench.REPEATS)]
    assert list(measured) == sizes
    assert told[-1] == (len(sizes), len(sizes))
