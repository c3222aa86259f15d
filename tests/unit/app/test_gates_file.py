from __future__ import annotations

import json
from pathlib import Path

import pytest

from tradingbot.app.gates_file import gates_text, load_gates, read_benches
from tradingbot.domain.errors import ConfigError, DataError

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
        (ONE.replace('">"', '"~"'), "one of"),
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


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"records": [{"name": "a"}]}'])
def test_file_that_is_no_benchmark_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "bench.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"tradingbot bench.*bench\.json"):
        read_benches([file])
