from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.example_dossier import example_dossier
from tradingbot.app.cli.gates import print_memo
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.pipeline.stored_dossier import read_dossier


def test_gates_are_told_one_by_one_and_reasons_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    memo = write_memo(example_dossier(), load_gates())

    print_memo(memo, label="made-up numbers")

    said = capsys.readouterr().out
    table, _, reasons = said.partition("Not measured:\n")
    assert all(each.gate in table for each in memo.gates)  # no name is broken
    assert "> 0 (low)" in table
    assert max(map(len, table[table.index("Gates") :].splitlines())) <= 120
    unmeasured = [each for each in memo.gates if each.outcome == "not measured"]
    assert len(reasons.splitlines()) == len({each.reason for each in unmeasured})
    assert (
        "  - environment/speed, environment/step, environment/parallel, environment/memory"
        in reasons
    )
    assert "  - F production/onnx: there is no export to ONNX yet" in reasons


def test_dossier_that_is_no_json_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "evaluation" / "dossier.json"
    file.parent.mkdir()
    file.write_text("{")

    with pytest.raises(StorageError, match="readable JSON, was no JSON in line 1: expecting"):
        read_dossier(tmp_path)
