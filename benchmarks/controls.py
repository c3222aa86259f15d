"""Controls and the tests that hold them: `make controls`, or `python benchmarks/controls.py`.

`tests/controls.yaml` lists every fault that the product must survive. Tests that carry its code in
their name (`test_S07_…`), and those that the list names, hold it. `--run` runs them and keeps when
each passed last in `docs/reference/controls.json`; the page `docs/reference/controls.md` is written
from list, tests and results. Leaves with 1 where a test failed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "tests" / "controls.yaml"
RESULTS = ROOT / "docs" / "reference" / "controls.json"
PAGE = ROOT / "docs" / "reference" / "controls.md"
GROUPS = {
    "D": "Data",
    "E": "Environments and simulator",
    "T": "Training",
    "S": "Serving",
    "B": "Broker, execution and risk",
    "P": "Database",
    "C": "Configuration and secrets",
    "M": "Model files",
    "U": "Dashboard, alerts and command line",
}
_CODE = re.compile(r"(?:^|_)([BCDEMPSTU]\d{2})(?=_|$)", re.IGNORECASE)
_SHOWN = 3


@dataclass(frozen=True)
class Control:
    """One fault, what is expected, and the tests that hold it."""

    code: str
    fault: str
    expected: str
    tests: tuple[str, ...]
    """Node ids of functions, without parameters."""
    open: str = ""
    """Why there is no test, or what of it is not held."""


@cache
def find_tests(root: Path = ROOT) -> Mapping[str, tuple[str, ...]]:
    """Return file → names of its test functions, of every file below `tests`."""
    found = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        names = tuple(node.name for node in functions if node.name.startswith("test_"))
        found[path.relative_to(root).as_posix()] = names
    return found


def codes_in(name: str) -> tuple[str, ...]:
    """Return the codes in the name of a test.

    Example:
        >>> codes_in("test_S07_model_that_answers_nan"), codes_in("test_texts_are_bound_P08_P09")
        (('S07',), ('P08', 'P09'))
    """
    return tuple(code.upper() for code in _CODE.findall(name))


def read_controls(tests: Mapping[str, tuple[str, ...]]) -> list[Control]:
    """Return every control of the list with its tests.

    Raises:
        ValueError: If a test carries a code that is not listed, a test that is listed does not
            exist, or a control has neither a test nor a reason.
    """
    listed: dict[str, dict[str, Any]] = yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))
    by_code: dict[str, list[str]] = {code: [] for code in listed}
    for file, names in tests.items():
        for name in names:
            for code in codes_in(name):
                if code not in by_code:
                    raise ValueError(f"{file}::{name} carries {code}, which is not in {CATALOGUE}")
                by_code[code].append(f"{file}::{name}")
    controls = []
    for code, entry in listed.items():
        named = [each for place in entry.get("tests", ()) for each in _expand(place, tests, code)]
        own = tuple(dict.fromkeys([*by_code[code], *named]))
        reason = entry.get("open", "")
        if not own and not reason:
            raise ValueError(f"{code} must have a test, or say why not: open: …")
        controls.append(Control(code, entry["fault"], entry["expected"], own, reason))
    return controls


def _expand(place: str, tests: Mapping[str, tuple[str, ...]], code: str) -> list[str]:
    """Return the tests that a line of the list means: one, or all of a file."""
    file, _, name = place.partition("::")
    names = tests.get(file, ())
    if not names or (name and name not in names):
        raise ValueError(f"{code} names a test that does not exist: {place}")
    return [place] if name else [f"{file}::{each}" for each in names]


def read_results() -> dict[str, dict[str, str]]:
    """Return test → when it passed last (`passed`), and when it failed since (`failed`)."""
    return dict(json.loads(RESULTS.read_text("utf-8"))) if RESULTS.is_file() else {}


def last_pass(control: Control, results: Mapping[str, Mapping[str, str]]) -> str:
    """Say when all tests of a control had passed: the oldest of their last passes."""
    failed = [test for test in control.tests if results.get(test, {}).get("failed")]
    if failed:
        return f"**failed** ({len(failed)})"
    days = [results.get(test, {}).get("passed", "") for test in control.tests]
    known = [day for day in days if day]
    if not known:
        return "–"
    missing = f", {len(days) - len(known)} not run" if len(known) < len(days) else ""
    return f"{min(known)}{missing}"


def render_page(controls: Sequence[Control], results: Mapping[str, Mapping[str, str]]) -> str:
    """Write the page."""
    held = [each for each in controls if each.tests]
    n_tests = len({test for each in held for test in each.tests})
    parts = [
        "# Controls, the tests that hold them, and when they passed last\n",
        "<!-- Generated. Do not edit; run: make controls -->\n",
        f"{len(held)} of {len(controls)} faults are held by {n_tests} tests. A self-assessment as "
        "RTS 6, article 9, asks for, written from the tests themselves: a test carries the code in "
        "its name or is listed in `tests/controls.yaml` "
        "([0087](../decisions/0087-controls-are-listed-from-their-tests.md)). *Last pass* is the "
        "day on which every test of the row had passed; `make controls` runs them all and writes "
        "this page, `make controls GROUP=U` one table. What is not held says why.\n",
    ]
    for letter, title in GROUPS.items():
        rows = [each for each in controls if each.code[0] == letter]
        n_held = sum(bool(each.tests) for each in rows)
        parts += [f"\n## {title} ({n_held} of {len(rows)})\n"]
        parts += ["| code | fault | expected | tests | last pass |", "|---|---|---|---|---|"]
        parts += [_row(each, results) for each in rows]
    return "\n".join(parts) + "\n"


def _row(control: Control, results: Mapping[str, Mapping[str, str]]) -> str:
    shown = [f"`{test.rpartition('/')[2]}`" for test in control.tests[:_SHOWN]]
    if len(control.tests) > _SHOWN:
        shown.append(f"and {len(control.tests) - _SHOWN} more")
    told = "<br>".join(shown) or f"none: {control.open}"
    if control.tests and control.open:
        told += f"<br>not held: {control.open}"
    fault, expected = (escape(each, quote=False) for each in (control.fault, control.expected))
    cells = (control.code, fault, expected, told, last_pass(control, results))
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def run_tests(tests: Sequence[str], *, slow: bool) -> dict[str, str]:
    """Run tests as `make test` does; return test → `passed`, `failed` or `skipped`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
        command += [] if slow else ["-m", "not slow"]
        command += ["-o", "junit_family=xunit1", f"--junitxml={report}", *tests]
        subprocess.run(command, cwd=ROOT, check=False)
        return read_report(report.read_text(encoding="utf-8")) if report.is_file() else {}


def read_report(text: str) -> dict[str, str]:
    """Return what became of each test of a report; of several parameters the worst.

    Example:
        >>> case = "<testcase file='a.py' name='test_x[1]'><failure/></testcase>"
        >>> read_report(f"<testsuite>{case}</testsuite>")
        {'a.py::test_x': 'failed'}
    """
    outcomes: dict[str, set[str]] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):  # noqa: S314 - pytest's own
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped"
        name = f"{case.get('file')}::{str(case.get('name')).partition('[')[0]}"
        is_done = bool(kinds & {"failure", "error", "skipped"})
        outcomes.setdefault(name, set()).add(outcome if is_done else "passed")
    worst = ("failed", "passed", "skipped")
    return {name: next(each for each in worst if each in found) for name, found in outcomes.items()}


def note_results(found: Mapping[str, str], day: str, commit: str) -> None:
    """Keep when each test passed last, and forget tests that are gone."""
    results = read_results()
    for test, outcome in found.items():
        before = results.get(test, {})
        if outcome == "passed":
            results[test] = {"passed": day, "commit": commit}
        elif outcome == "failed":
            results[test] = {**before, "failed": day}
    known = {f"{file}::{name}" for file, names in find_tests().items() for name in names}
    kept = {test: results[test] for test in sorted(results) if test in known}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="run the tests first")
    parser.add_argument("--group", default="".join(GROUPS), help="letters of the tables to run")
    parser.add_argument("--slow", action="store_true", help="those that take minutes too")
    given = parser.parse_args(arguments)
    controls = read_controls(find_tests())
    found: dict[str, str] = {}
    if given.run:
        chosen = [each for each in controls if each.code[0] in given.group.upper()]
        tests = list(dict.fromkeys(test for each in chosen for test in each.tests))
        found = run_tests(tests, slow=given.slow)
        command = ["git", "rev-parse", "--short=12", "HEAD"]
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        note_results(found, datetime.now(UTC).date().isoformat(), commit.stdout.strip())
    PAGE.write_text(render_page(controls, read_results()), encoding="utf-8")
    counted = Counter(found.values())
    print(f"wrote {PAGE.relative_to(ROOT)}; " + ", ".join(f"{n} {w}" for w, n in counted.items()))
    return 1 if counted["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
