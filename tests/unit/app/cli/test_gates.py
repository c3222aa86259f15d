from __future__ import annotations

from dataclasses import replace
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

    print_memo(memo, label="made-up numbers", show_all=True)

    said = capsys.readouterr().out
    table, _, reasons = said.partition("Not measured:\n")
    assert all(each.gate in table for each in memo.gates)  # no name is broken
    assert "> 0 (low)" in table
    assert max(map(len, table[table.index("Gates") :].splitlines())) <= 120
    unmeasured = [each for each in memo.gates if each.outcome == "not measured"]
    assert len(reasons.splitlines()) == len({each.reason for each in unmeasured})
    assert (
        "environment/speed, environment/step, environment/parallel, environment/memory" in reasons
    )
    assert "F production/breakers" not in said  # what nothing measures yet is no gate


def test_required_and_failed_gates_come_first_and_the_others_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dossier = example_dossier()
    unsure = replace(dossier, statistics=replace(dossier.statistics, deflated_sharpe=0.1))
    memo = write_memo(unsure, load_gates())

    print_memo(memo, label="made-up numbers")

    said = capsys.readouterr().out
    assert said.startswith(f"{memo.verdict}: ")
    table = said[said.index("Required and failed gates") :]
    named = [each.gate for each in memo.gates if f" {each.gate}" in table]
    assert set(named) == {
        each.gate
        for each in memo.gates
        if each.is_required or (each.outcome == "fail" and each.phase != "fallback")
    }
    places = {name: table.index(f" {name}") for name in named}
    required = [each for each in memo.gates if each.is_required]
    failed = [places[each.gate] for each in required if each.outcome == "fail"]
    passed = [places[each.gate] for each in required if each.outcome == "pass"]
    assert max(failed) < min(passed)
    assert "--all shows them" in said
    assert len(said.splitlines()) < 130


def test_file_of_gates_is_json_where_that_is_asked_for(call) -> None:
    gates = call("gates", "--print", "--json").document["gates"]

    assert [each["name"] for each in gates] == [each.name for each in load_gates()]
    assert {"metric", "comparison", "target", "required", "judged_by"} <= set(gates[0])


def test_dossier_that_is_no_json_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "evaluation" / "dossier.json"
    file.parent.mkdir()
    file.write_text("{")

    with pytest.raises(StorageError, match="readable JSON, was no JSON in line 1: expecting"):
        read_dossier(tmp_path)
