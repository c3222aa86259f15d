from __future__ import annotations

import json
from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.gates.gates_file import gates_text, load_gates, read_benches
from tradingbot.evaluation.gates.measurements import MEASUREMENTS

ONE = """gates:
  - name: edge/sharpe
    words: Sharpe ratio
    metric: sharpe_annual
    comparison: ">"
    target: 1.0
    required: true
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_gates_of_the_product_are_readable_and_named_once() -> None:
    gates = load_gates()
    names = [gate.name for gate in gates]
    assert len(set(names)) == len(names)
    assert {gate.phase for gate in gates} >= {"edge", "validation", "prototype", "full", "final"}


PLAN = {
    "data": "symbols no_leak scaler",
    "environment": "speed step parallel memory",
    "architecture": "parameters nan ppo latency",
    "A continuous": "coverage entropy trades one_bin range nan health",
    "B hierarchy": "sharpe win_rate voluntary least_option most_option hindsight",
    "C rewards": "sharpe drawdown one_objective",
    "D advanced": "sharpe drawdown regimes evolution",
    "E curriculum": "stages accuracy base_rates",
    "F production": "latency onnx breakers dashboard",
    "prototype": "agents supervised supervised_plan no_ruin reproducible",
    "full": "size agents no_ruin",
    "master": "over_fixed sharpe drawdown not_all_in not_all_cash",
    "final": "sharpe drawdown win_rate profit_factor over_index",
    "fallback": "agents sharpe",
}
"""Every figure that the plan asks for, by phase."""
REQUIRED = {
    *("edge/net", "edge/over_hold", "edge/deflated_sharpe", "edge/best_baseline", "edge/no_leak"),
    *(
        "edge/raw_loss",
        "edge/trading",
        "validation/track_record",
        "validation/windows",
        "validation/costs",
    ),
    *("validation/placebos", "final/sharpe", "final/drawdown", "final/over_index"),
}


@pytest.mark.parametrize("phase", PLAN)
def test_every_figure_of_the_plan_is_a_gate(phase: str) -> None:
    gates = {gate.name for gate in load_gates() if gate.phase == phase}
    assert gates == {f"{phase}/{what}" for what in PLAN[phase].split()}


def test_validation_asks_for_windows_regimes_and_coverage() -> None:
    gates = {gate.name for gate in load_gates()}
    assert {"validation/windows", "validation/regimes", "validation/coverage"} <= gates


def test_go_requires_what_a_dossier_measures_and_nothing_that_is_to_come() -> None:
    required = [gate for gate in load_gates() if gate.required]
    assert {gate.name for gate in required} == REQUIRED
    assert all(gate.metric in MEASUREMENTS for gate in required)


def test_printed_gates_can_be_read_again(tmp_path: Path) -> None:
    assert load_gates(written(tmp_path, gates_text())) == load_gates()


def test_edited_gate_is_the_one_that_is_judged(tmp_path: Path) -> None:
    assert load_gates(written(tmp_path, ONE.replace("1.0", "2.5")))[0].target == 2.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ONE.replace("sharpe_annual", "sharp_anual"),
            r"known metric, was 'sharp_anual' \(.*mine.yaml:2\)",
        ),
        (ONE.replace("words", "wording"), r"known, was 'wording' \(.*mine.yaml:3\)"),
        (ONE.replace("    target: 1.0\n", ""), "no 'target'"),
        (
            ONE.replace('">"', '"~"'),
            r"comparison must be >, >=, < or <=, was '~' \(.*mine.yaml:2\)",
        ),
        (ONE.replace("1.0", "high"), "target"),
        (ONE.replace("edge/sharpe", "7"), "text"),
        (ONE.replace("edge/", "final/"), "ask for an edge"),
        (ONE.replace("true", "false"), "ask for an edge"),
        ("gates: []\n", "no list"),
        ("gate: 1\n", "key 'gate'"),
        ("gates:\n  - 3\n", "mapping"),
    ],
)
def test_broken_gates_are_refused_with_their_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_gates(written(tmp_path, text))


def test_unknown_gates_are_refused() -> None:
    with pytest.raises(ConfigError, match="product"):
        load_gates("produkt")


def test_benchmarks_are_read_by_name_and_unmeasured_ones_left_out(tmp_path: Path) -> None:
    records = [{"name": "a", "value": 2.0}, {"name": "b", "value": None}]
    file = tmp_path / "bench.json"
    file.write_text(json.dumps({"records": records}))
    assert read_benches([file]) == {"a": 2.0}
    file.write_text(json.dumps(records))
    assert read_benches([file]) == {"a": 2.0}


@pytest.mark.parametrize(
    ("content", "was"),
    [
        (b"", "no JSON in line 1"),
        (b'[\n{"name": }]', "no JSON in line 2"),
        (b"\xff\xfe", "no JSON in line 1"),  # the mark of UTF-16, and no text
        (b"\xff{", "no text"),
        (b"{}", "no list of records"),
        (b"3", "no list of records"),
        (b"[1]", "record 1 without a name and a value"),
        (b'{"records": [{"name": "a"}]}', "record 1 without a name and a value"),
        (b'[{"name": "a", "value": 1}, {"name": "b", "value": "x"}]', "'x' as the value of 'b'"),
        (b'[{"name": "a", "value": true}]', "True as the value of 'a'"),
    ],
)
def test_file_that_is_no_benchmark_is_refused(tmp_path: Path, content: bytes, was: str) -> None:
    file = tmp_path / "bench.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"tradingbot bench.*bench\.json") as caught:
        read_benches([file])
    assert str(caught.value.was).startswith(was)
    assert "Error" not in str(caught.value)


def test_missing_benchmark_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"was missing .*none\.json"):
        read_benches([tmp_path / "none.json"])
    with pytest.raises(DataError, match="was is a directory"):
        read_benches([tmp_path])
