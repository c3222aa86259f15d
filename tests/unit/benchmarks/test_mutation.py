"""Mutants of every kind are made; the noticed one is killed, the unnoticed one survives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

import mutation  # noqa: E402 - a script beside the package, found by the line above
from mutants.changes import mutants_of  # noqa: E402
from mutants.footprints import Footprints  # noqa: E402
from mutants.rooms import EQUIVALENT, ROOMS  # noqa: E402
from mutants.trials import plan_trial  # noqa: E402

CODE = '''
LIMIT = 3


def total(a: int, b: int) -> int:
    """Add."""
    return a + b


def capped(a):
    return LIMIT if a > LIMIT else a


def spin(n):
    while n > 0:
        n = n - 1
    return n


def unasked(a):
    return a * 2
'''
TESTS = """
import pytest
from toy.sums import capped, spin, total

THREE = total(1, 2)


def test_total():
    assert THREE == 3


@pytest.fixture(scope="module")
def many():
    return capped(9)


def test_fixture_is_there(many):
    pass


def test_capped(many):
    assert (many, capped(3), capped(2)) == (3, 3, 2)


def test_spin():
    assert spin(2) == 0
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """What the command prints, and change → outcome."""
    folder = tmp_path_factory.mktemp("mutation")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").touch()
    (folder / "toy" / "sums.py").write_text(CODE)
    (folder / "test_toy.py").write_text(TESTS)
    script = [sys.executable, str(ROOT / "benchmarks" / "mutation.py"), "--source", "toy"]
    command = [*script, "--tests", "test_toy.py", "--sample", "0", "--out", "out", "--grace", "2"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr  # a branch and a mutant too few
    rows = (folder / "out" / "toy" / "outcomes.jsonl").read_text().splitlines()
    return done.stdout, {row["change"]: row["outcome"] for row in map(json.loads, rows)}


def test_mutant_that_a_test_notices_is_killed(judged: tuple[str, dict[str, str]]) -> None:
    _, outcomes = judged
    assert outcomes["a > LIMIT → (a <= LIMIT)"] == "killed"
    assert outcomes["return n → return None"] == "killed"
    assert outcomes["3 → (4)"] == "killed"  # a constant of the module: imported anew
    assert outcomes["a + b → (a - b)"] == "killed"  # computed while tests are collected


def test_mutant_that_never_ends_is_stopped(judged: tuple[str, dict[str, str]]) -> None:
    assert judged[1]["n - 1 → (n + 1)"] == "timed out"


def test_mutant_that_no_test_notices_survives_and_is_listed(
    judged: tuple[str, dict[str, str]],
) -> None:
    printed, outcomes = judged
    assert outcomes["a * 2 → (a / 2)"] == "untested"
    assert outcomes["a > LIMIT → (a >= LIMIT)"] == "survived"  # 3 either way: equivalent
    assert "sums.py:21: a * 2 → (a / 2)" in printed
    assert "BELOW: toy. Branches 100.0% (2 of 2)." in printed


def test_every_kind_of_change_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "kinds.py"
    file.write_text(
        "def f(a, b: int = 1) -> int:\n"
        "    'Text.'\n"
        "    if a < b and not a:\n"
        "        a += 1\n"
        "        raise ValueError(f'{a + b}')\n"
        "    a.b = -g(a, b, x=True)\n"
        "    return max(a, b) if a else 2.5\n"
    )
    made = [(each.kind, each.change) for each in mutants_of(file)]
    assert sorted(made) == sorted(
        [
            ("constant", "1 → (2)"),
            ("condition", "a < b and not a → (not (a < b and (not a)))"),
            ("boolean", "a < b and not a → (a < b or not a)"),
            ("comparison", "a < b → (a >= b)"),
            ("boundary", "a < b → (a <= b)"),
            ("boolean", "not a → (a)"),
            ("removed statement", "remove a += 1"),
            ("arithmetic", "a += 1 → a -= 1"),
            ("constant", "1 → (2)"),
            ("removed statement", "remove raise ValueError(f'{a + b}')"),
            ("removed statement", "remove a.b = -g(a, b, x=True)"),
            ("sign", "-g(a, b, x=True) → (g(a, b, x=True))"),
            ("swapped arguments", "g(a, b, x=True) → (g(b, a, x=True))"),
            ("constant", "True → (False)"),
            ("return", "return max(a, b) if a else 2.5 → return None"),
            ("condition", "max(a, b) if a else 2.5 → (2.5 if a else max(a, b))"),
            ("constant", "2.5 → (3.5)"),
        ]
    )
    for each in mutants_of(file):
        compile(each.source(), str(file), "exec")


def test_tests_of_a_mutant_are_those_that_execute_it_the_fastest_first(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("def f(a):\n    return a + 1\n")
    mutant = mutants_of(file)[0]
    seconds = {"slow": 9.0, "fast": 0.1, "middle": 1.0, "other": 0.01}
    prints = Footprints(seconds, {str(file): {2: ["slow", "fast", "middle"]}}, {}, {})
    assert plan_trial(mutant, prints, most_s=5.0).inside == ("fast", "middle")
    assert plan_trial(mutant, prints, most_s=0.0).inside == ("fast",)


def test_outcomes_hold_while_what_they_rest_on_is_the_same(tmp_path: Path) -> None:
    file, killer = tmp_path / "code.py", tmp_path / "test_code.py"
    file.write_text("def f(a):\n    return a + 1\n")
    killer.write_text("first")
    first, second = mutants_of(file)[:2]
    written = mutation.Outcomes(tmp_path / "outcomes.jsonl", "state")
    written.add(first, "killed", f"{killer}::test")
    written.add(second, "survived", "")

    def kept(state: str) -> set[str]:
        outcomes = mutation.Outcomes(tmp_path / "outcomes.jsonl", state)
        outcomes.load()
        return set(outcomes.kept)

    keys = [mutation.key_of(each) for each in (first, second)]
    assert kept("state") == {*keys}
    assert kept("other tests") == {keys[0]}
    killer.write_text("second")
    assert kept("other tests") == set()


def test_equivalent_mutants_exist_and_have_a_reason() -> None:
    found = {
        mutation.name_of(mutant)
        for room in ROOMS.values()
        for file in sorted(room.source.rglob("*.py"))
        for mutant in mutants_of(file)
    }
    assert EQUIVALENT.keys() <= found
    assert all(len(reason) > 20 for reason in EQUIVALENT.values())
