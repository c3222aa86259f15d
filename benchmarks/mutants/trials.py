"""Trials: a mutant against the tests that execute it, each in a fork of a loaded interpreter.

Where the change is inside a function, the fork is of a process that has collected every test, and
the function's code is replaced where it lives: a trial costs hundredths of a second and the tests.
A change at the level of a module (a constant, a default) is imported anew in a fork that has loaded
the packages of others only.
"""

from __future__ import annotations

import bisect
import gc
import importlib.machinery
import itertools
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mutants.changes import Mutant
from mutants.footprints import Footprints
from mutants.running import Child, run_pytest

KILLED, SURVIVED, TIMED_OUT, UNTESTED = "killed", "survived", "timed out", "untested"
_ANEW = 71
"""Status of a process that cannot put the change where it lives: the file is imported anew."""
_PATIENCE = 5.0
"""A mutant may take this many times as long as the tests took."""
Tell = Callable[[str], None]
Heard = Callable[[Mutant, str, str], None]
"""(mutant, outcome, test that noticed it)"""


@dataclass(frozen=True)
class Trial:
    """A mutant and the tests that may notice it, in the order in which they run."""

    mutant: Mutant
    inside: tuple[str, ...]
    """Tests to run with the change put where it lives."""
    anew: tuple[str, ...]
    """Tests to run where nothing did and the file is imported with the change."""
    limit_s: float
    """Seconds of computing after which the mutant counts as hung."""


def plan_trial(
    mutant: Mutant, footprints: Footprints, most_s: float, grace_s: float = 15.0
) -> Trial:
    """Choose a mutant's tests: those that execute it, the fastest first, within a time.

    A change at the level of the module, or in what is executed while tests are collected, may be
    noticed by any test.
    """
    place = (mutant.file, *mutant.lines)
    is_early = not mutant.function or footprints.is_early(*place)
    inside = footprints.tests_of(*place) if mutant.function else []
    anew = footprints.all_tests(mutant.file) if is_early else []
    chosen = [_within(each, footprints.seconds, most_s) for each in (inside, anew)]
    longest = max(sum(footprints.seconds[test] for test in tests) for tests in chosen)
    return Trial(mutant, *chosen, grace_s + _PATIENCE * longest)


def _within(tests: Sequence[str], seconds: dict[str, float], most_s: float) -> tuple[str, ...]:
    """Return as many tests as fit into a time, and one at least."""
    ends = [*itertools.accumulate(seconds[test] for test in tests)]
    return tuple(tests[: max(1, bisect.bisect_right(ends, most_s))])


def run_trials(trials: Sequence[Trial], heard: Heard) -> None:
    """Run every trial; outcomes are told as they come, some of them from a process of its own."""
    inside = [each for each in trials if each.inside]
    anew = [each for each in trials if each.anew and not each.inside]
    for each in trials:
        if not each.inside and not each.anew:
            heard(each.mutant, UNTESTED, "")
    if inside:
        files = _files_of(test for each in inside for test in each.inside)
        loop = _Loop(inside, heard)
        # One process collects the tests, forks for each mutant and tells what it could not do.
        loaded = Child(lambda tell: loop.collect_and_run(files, tell))
        status, said = loaded.wait()
        if status:
            raise RuntimeError(f"the tests could not be collected (status {status}): {said}")
        anew += [inside[int(at)] for at in said.split()]
    for each in anew:
        status, said = Child(partial(_import_anew, each), cpu_s=each.limit_s).wait()
        heard(each.mutant, *_outcome(status, said))


def _files_of(tests: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(test.partition("::")[0] for test in tests)]


def _outcome(status: int | None, said: str) -> tuple[str, str]:
    if status is None:
        return TIMED_OUT, ""
    return (SURVIVED, "") if status in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else (KILLED, said)


def _import_anew(trial: Trial, tell: Tell) -> int:
    _replace_source(trial.mutant)
    tests = trial.anew or trial.inside
    return run_pytest([*_files_of(tests), "-x"], _Witness(tell, tests))


class _Witness:
    """Plugin of pytest: keeps the chosen tests in their order and tells the first that fails."""

    def __init__(self, tell: Tell, chosen: Sequence[str] = ()) -> None:
        self._tell, self._chosen = tell, {test: at for at, test in enumerate(chosen)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._chosen]
        items.sort(key=lambda item: self._chosen[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._tell(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(report.nodeid)


class _Loop:
    """Plugin of pytest: instead of running what was collected, forks for every mutant."""

    def __init__(self, trials: Sequence[Trial], heard: Heard) -> None:
        self._trials, self._heard = trials, heard
        self._anew: list[int] = []
        self._errors: list[str] = []

    def collect_and_run(self, files: Sequence[str], tell: Tell) -> int:
        """Do everything; tells the places of trials whose files must be imported anew."""
        status = run_pytest([*files], self)
        ok = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        tell(" ".join(map(str, self._anew)) if ok else " ".join(self._errors))
        return 0 if ok else status

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(f"{report.nodeid}: {report.longreprtext[-300:]}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("errors during collection")
        items = {item.nodeid: item for item in session.items}
        functions = _live_functions({each.mutant.file for each in self._trials})
        gc.collect()
        gc.freeze()
        for at, trial in enumerate(self._trials):
            attempt = _Attempt(session, trial, [items[test] for test in trial.inside], functions)
            status, said = Child(attempt.run, cpu_s=trial.limit_s).wait()
            if status == _ANEW or (status == 0 and trial.anew):
                self._anew.append(at)
            else:
                self._heard(trial.mutant, *_outcome(status, said))
        return True


Functions = dict[tuple[str, str], list[types.FunctionType]]


@dataclass(frozen=True)
class _Attempt:
    session: pytest.Session
    trial: Trial
    items: Sequence[pytest.Item]
    functions: Functions

    def run(self, tell: Tell) -> int:
        """Put the change where it lives and run the tests until one fails."""
        if not _replace_code(self.trial.mutant, self.functions):
            return _ANEW
        config = self.session.config
        config.pluginmanager.register(_Witness(tell))
        for item, after in zip(self.items, [*self.items[1:], None], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.session.testsfailed:
                return 1
        return 0


def _live_functions(files: set[Path]) -> Functions:
    """Return (file, qualified name) → functions in memory."""
    names = {str(file) for file in files}
    found: Functions = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is types.FunctionType and each.__code__.co_filename in names:
            found[each.__code__.co_filename, each.__code__.co_qualname].append(each)
    return found


def _replace_code(mutant: Mutant, functions: Functions) -> bool:
    """Give the living functions a mutant's code; tell whether that could be done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(mutant.source(), str(mutant.file), "exec")
    changed = {each.co_qualname: each for each in _codes(code)}
    living = functions.get((str(mutant.file), mutant.function), [])
    if not living and not _is_loaded(mutant.file):
        _replace_source(mutant)  # a test imports it later
        return True
    for function in living:
        if len(changed[mutant.function].co_freevars) != len(function.__code__.co_freevars):
            return False
        function.__code__ = changed[mutant.function]
    return bool(living)


def _is_loaded(file: Path) -> bool:
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return any(each is not None and Path(each).resolve() == file for each in loaded)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _replace_source(mutant: Mutant) -> None:
    """Let the file be imported with a mutant's text."""
    text, place = mutant.source(), str(mutant.file)
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> types.CodeType | None:
        if str(Path(loader.get_filename(name)).resolve()) != place:
            return plain(loader, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, place, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
