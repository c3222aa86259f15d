"""docs/reference/controls.md is written from the list of controls, the tests and their results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import controls  # noqa: E402 - a script beside the package, found by the line above
from controls import Control  # noqa: E402


def test_page_is_what_list_tests_and_results_say() -> None:
    found = controls.read_controls(controls.find_tests())

    written = controls.render_page(found, controls.read_results())

    told = "run: .venv/bin/python benchmarks/controls.py"
    assert controls.PAGE.read_text(encoding="utf-8") == written, told


def test_every_control_has_a_test_or_says_why_not() -> None:
    found = controls.read_controls(controls.find_tests())

    assert len(found) == 163
    assert {each.code[0] for each in found} == set(controls.GROUPS)
    for each in found:
        assert each.tests or len(each.open) > 20, each.code


@pytest.mark.parametrize("letter", "SBMP")
def test_every_control_of_serving_trading_models_and_journal_is_held(letter: str) -> None:
    found = controls.read_controls(controls.find_tests())

    assert [each.code for each in found if each.code[0] == letter and not each.tests] == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tests": {"tests/test_x.py": ("test_B99_new_fault",)}}, "carries B99"),
        ({"listed": {"B01": {"tests": ["tests/test_gone.py"]}}}, "does not exist"),
        ({"listed": {"B01": {}}}, "must have a test, or say why not"),
    ],
)
def test_list_that_does_not_fit_the_tests_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], told: str
) -> None:
    words = {"fault": "a", "expected": "b"}
    listed = {code: {**words, **more} for code, more in change.get("listed", {}).items()}
    file = tmp_path / "controls.yaml"
    file.write_text(yaml.safe_dump(listed))
    monkeypatch.setattr(controls, "CATALOGUE", file)

    with pytest.raises(ValueError, match=told):
        controls.read_controls(change.get("tests", {}))


def test_last_pass_is_the_oldest_and_a_failure_is_told() -> None:
    control = Control("B01", "fault", "expected", ("a", "b"))
    results = {"a": {"passed": "2026-01-02"}, "b": {"passed": "2026-01-01"}}

    assert controls.last_pass(control, results) == "2026-01-01"
    assert controls.last_pass(control, {"a": results["a"]}) == "2026-01-02, 1 not run"
    assert controls.last_pass(control, {}) == "–"
    failed = {**results, "b": {"passed": "2026-01-01", "failed": "2026-01-03"}}
    assert controls.last_pass(control, failed) == "**failed** (1)"


def test_results_are_kept_of_tests_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controls, "RESULTS", tmp_path / "controls.json")
    own = "tests/docs/test_controls_page.py::test_page_is_what_list_tests_and_results_say"
    monkeypatch.setattr(controls, "RESULTS", tmp_path / "controls.json")

    controls.note_results({own: "passed", "tests/gone.py::test_x": "passed"}, "2026-01-02", "abc")
    controls.note_results({own: "failed"}, "2026-01-03", "abd")

    kept = json.loads((tmp_path / "controls.json").read_text())
    assert kept == {own: {"passed": "2026-01-02", "commit": "abc", "failed": "2026-01-03"}}


def test_report_tells_the_worst_of_a_test_and_passes_over_skips() -> None:
    cases = {"a[1]": "", "a[2]": "<failure/>", "b[1]": "<skipped/>", "b[2]": "", "c": "<error/>"}
    told = "".join(
        f"<testcase file='tests/x.py' name='test_{name}'>{inner}</testcase>"
        for name, inner in cases.items()
    )

    found = controls.read_report(f"<testsuites><testsuite>{told}</testsuite></testsuites>")

    names = {name.rpartition("_")[2]: outcome for name, outcome in found.items()}
    assert names == {"a": "failed", "b": "passed", "c": "failed"}
    assert all(name.startswith("tests/x.py::test_") for name in found)
