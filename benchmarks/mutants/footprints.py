"""Footprints: which tests execute which lines of a room, how long each takes, and its branches.

One run of the room's tests under coverage, with every test (and every fixture that several tests
share) as a context of its own: a line that a shared fixture executes is tested by all who use it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutants.running import run_pytest

_FIXTURE = "fixture "


@dataclass
class Footprints:
    """What a room's tests execute."""

    seconds: dict[str, float]
    """Test → wall-clock seconds with its own set-up."""
    lines: dict[str, dict[int, list[str]]]
    """File → line → tests that execute it."""
    branches: dict[str, tuple[int, int]]
    """File → branches covered, branches."""
    missing: dict[str, list[str]]
    """File → branches not covered, `from → to` by line; a negative line leaves the function."""
    modules: list[str] = field(default_factory=list)
    """Modules of installed packages that the tests imported."""
    early: dict[str, list[int]] = field(default_factory=dict)
    """File → lines that are executed while tests are collected."""
    failed: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write to a JSON file."""
        path.write_text(json.dumps(vars(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Footprints:
        """Read what `save` wrote."""
        found = cls(**json.loads(path.read_text(encoding="utf-8")))
        found.lines = {f: {int(n): t for n, t in of.items()} for f, of in found.lines.items()}
        return found

    def tests_of(self, file: Path, first: int, last: int) -> list[str]:
        """Return the tests that execute one of the lines, the fastest first."""
        lines = self.lines.get(str(file), {})
        found = {test for n in range(first, last + 1) for test in lines.get(n, ())}
        return sorted(found, key=self._order)

    def is_early(self, file: Path, first: int, last: int) -> bool:
        """Tell whether one of the lines is executed while tests are collected."""
        return any(first <= line <= last for line in self.early.get(str(file), ()))

    def all_tests(self, file: Path) -> list[str]:
        """Return every test, those first that execute a line of the file, then the fastest."""
        near = {test for tests in self.lines.get(str(file), {}).values() for test in tests}
        return sorted(self.seconds, key=lambda test: (test not in near, *self._order(test)))

    def _order(self, test: str) -> tuple[float, str]:
        return (self.seconds[test], test)


def record_footprints(source: Path, tests: tuple[str, ...], out: Path) -> None:
    """Run tests under coverage and write what they execute; for a process of its own."""
    watched = coverage.Coverage(branch=True, source=[str(source)], data_file=None)
    watched.set_option("report:exclude_also", ["if TYPE_CHECKING:"])
    recorder = _Recorder(watched)
    watched.start()
    try:
        run_pytest([*tests], recorder)
    finally:
        watched.stop()
    report = out.with_suffix(".report")
    watched.json_report(outfile=str(report))
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    report.unlink()
    found = Footprints(recorder.seconds, recorder.lines(), {}, {}, early=recorder.early())
    for name, facts in files.items():
        summary, path = facts["summary"], str(Path(name).resolve())
        found.branches[path] = (summary["covered_branches"], summary["num_branches"])
        found.missing[path] = [f"{a} → {b}" for a, b in facts["missing_branches"]]
    found.modules = _modules()
    found.failed = sorted(recorder.failed)
    found.save(out)


def _modules() -> list[str]:
    """Return the modules of installed packages, in the order in which they were loaded."""
    return [
        name
        for name, module in list(sys.modules.items())
        if "site-packages" in str(getattr(module, "__file__", ""))
    ]


class _Recorder:
    """Plugin of pytest: a context per test and per shared fixture, and times."""

    def __init__(self, watched: coverage.Coverage) -> None:
        self._watched = watched
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._now = ""
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            definitions = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - private
            for found in definitions.values():
                for each in found:
                    self._users[_context_of(each)].add(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._switch(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.monotonic() - began
            self._switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._now
        self._switch(_context_of(fixturedef))
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def _switch(self, context: str) -> None:
        self._now = context
        self._watched.switch_context(context)

    def early(self) -> dict[str, list[int]]:
        """Return file → lines outside of any test."""
        data = self._watched.get_data()
        return {
            file: [n for n, contexts in data.contexts_by_lineno(file).items() if "" in contexts]
            for file in data.measured_files()
        }

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """Return file → line → tests."""
        data = self._watched.get_data()
        found: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            lines = found[file] = {}
            for number, contexts in data.contexts_by_lineno(file).items():
                tests: set[str] = set()
                for each in contexts:
                    tests |= self._users[each] if each.startswith(_FIXTURE) else {each}
                if kept := tests & self.seconds.keys():
                    lines[number] = sorted(kept)
        return found


def _context_of(definition: Any) -> str:
    return re.sub(r"\s+", " ", f"{_FIXTURE}{definition.baseid}::{definition.argname}")
