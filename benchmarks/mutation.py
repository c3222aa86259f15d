"""Branch coverage and mutation score of rooms: `make mutation`, or `python benchmarks/mutation.py`.

A mutant is the code with one small change (an operator, a bound, a constant, a removed statement).
It runs against the tests that execute the changed line until one fails: killed, or it survives. The
score is the share that was killed; a mutant that hangs is killed, one that no test executes
survives. Leaves with 1 where a room is below its floors.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import multiprocessing
import os
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants.changes import Mutant, mutants_of  # noqa: E402 - found by the line above
from mutants.footprints import Footprints, record_footprints  # noqa: E402
from mutants.rooms import EQUIVALENT, ROOMS, Room  # noqa: E402
from mutants.running import Child  # noqa: E402
from mutants.trials import KILLED, TIMED_OUT, plan_trial, run_trials  # noqa: E402

LEAST_BRANCHES, LEAST_SCORE = 0.95, 0.80
_Z = 1.959964
EXAMPLES = """examples:
  python benchmarks/mutation.py                              all four rooms, 120 mutants each
  python benchmarks/mutation.py --room risk --sample 0       every mutant of one room
  python benchmarks/mutation.py --seed 7                     another sample
  python benchmarks/mutation.py --source src/tradingbot/rewards --tests tests/unit/rewards

A run that was stopped goes on where it was; after a change of code or tests, only what it may have
changed is tried again (mutants of the changed file, those whose killer changed, survivors)."""


@dataclass
class Outcomes:
    """Outcomes of a room's mutants, kept in a file that a later run goes on with."""

    file: Path
    state: str
    """Hash of the room and its tests: a survivor is one only among these."""
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    def load(self) -> None:
        """Read what still holds."""
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.is_file() else []
        for row in map(json.loads, lines):
            killer = row["test"].partition("::")[0]
            holds = row["killer"] == hash_of([Path(killer)]) if killer else False
            if holds or row["state"] == self.state:
                self.kept[row["key"]] = row

    def add(self, mutant: Mutant, outcome: str, test: str) -> None:
        """Write one outcome; called from several processes, one after the other."""
        killer = test.partition("::")[0]
        row = {
            "key": key_of(mutant),
            "outcome": outcome,
            "test": test,
            "killer": hash_of([Path(killer)]) if killer else "",
            "state": self.state,
            "place": place_of(mutant),
            "change": mutant.change,
        }
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def hash_of(files: Sequence[Path]) -> str:
    """Hash the contents of files; one that is not there is empty."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()[:16]


def key_of(mutant: Mutant) -> str:
    """Identify a mutant by its file's name, the whole mutated text and where it is."""
    return hashlib.sha256(f"{mutant.file.name}{mutant.start}{mutant.source()}".encode()).hexdigest()


def place_of(mutant: Mutant) -> str:
    """Return `file:line` from the root of the checkout."""
    return f"{_short(mutant.file)}:{mutant.line}"


def name_of(mutant: Mutant) -> str:
    """Name a mutant as the list of equivalent ones does."""
    return f"{_short(mutant.file)}::{mutant.function}: {mutant.change}"


def _short(file: Path) -> str:
    package = ROOT / "src" / "tradingbot"
    return str(file.relative_to(package) if file.is_relative_to(package) else file)


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Example:
        >>> [round(x, 3) for x in wilson(80, 100)]
        [0.711, 0.867]
    """
    share, z2 = hits / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    return middle - half, middle + half


class Progress:
    """A line for every survivor and now and then, with the time that the rest will take."""

    def __init__(self, screen: TextIO, count: int) -> None:
        self._screen, self._count = screen, count
        self._done = multiprocessing.Value("i", 0)  # processes that are forked count on
        self._began = self._said = time.monotonic()

    def step(self, line: str = "") -> None:
        """Count one."""
        self._done.value += 1
        done, now = self._done.value, time.monotonic()
        if line or now - self._said > 15.0 or done == self._count:
            self._said = now
            left = (now - self._began) / done * (self._count - done)
            at = f"[{done}/{self._count}, about {left / 60:.0f} min left]"
            print(f"  {at} {line}".rstrip(), file=self._screen, flush=True)


@dataclass(frozen=True)
class Score:
    """What a room's tests are worth."""

    room: str
    branches: tuple[int, int]
    counts: Counter[str]
    n_all: int
    n_equivalent: int
    survivors: tuple[str, ...]

    @property
    def branch_share(self) -> float:
        """Share of branches that tests take; 1 where there are none."""
        return self.branches[0] / self.branches[1] if self.branches[1] else 1.0

    @property
    def hits(self) -> int:
        """Mutants that were noticed."""
        return self.counts[KILLED] + self.counts[TIMED_OUT]

    @property
    def share(self) -> float:
        """Mutation score; 1 where there are no mutants."""
        return self.hits / self.counts.total() if self.counts.total() else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether both floors are reached."""
        return self.branch_share >= LEAST_BRANCHES and self.share >= LEAST_SCORE

    def lines(self) -> list[str]:
        """Return survivors and figures for the screen."""
        tried = self.counts.total()
        words = f"{self.share:.1%}"
        if 0 < tried < self.n_all:
            low, high = wilson(self.hits, tried)
            words += f" ({low:.1%} … {high:.1%}, 95 %, {tried} of {self.n_all:,} drawn)"
        counts = ", ".join(f"{self.counts[each]} {each}" for each in sorted(self.counts))
        return [
            *(f"  survived: {each}" for each in self.survivors),
            f"{'enough' if self.is_enough else 'BELOW'}: {self.room}. Branches "
            f"{self.branch_share:.1%} ({self.branches[0]} of {self.branches[1]}). Mutants: {tried} "
            f"made, {counts}; {self.n_equivalent} equivalent left out. Score {words}.",
        ]


def judge_room(room: Room, given: argparse.Namespace, screen: TextIO) -> Score:
    """Measure branches and score of one room."""
    folder = given.out / room.name.replace("/", ".")
    folder.mkdir(parents=True, exist_ok=True)
    state = hash_of(_state_files(room))
    footprints = _footprints(room, folder / f"footprints-{state}.json", screen)
    files = sorted(room.source.rglob("*.py"))
    found = [mutant for file in files for mutant in mutants_of(file.resolve())]
    everything = [mutant for mutant in found if name_of(mutant) not in EQUIVALENT]
    random.Random(given.seed).shuffle(everything)  # noqa: S311 - a sample, not a secret
    drawn = everything[: given.sample or None]
    outcomes = Outcomes(folder / "outcomes.jsonl", state)
    outcomes.load()
    left = [mutant for mutant in drawn if key_of(mutant) not in outcomes.kept]
    print(f"{room.name}: {len(drawn)} mutants, {len(left)} to try", file=screen, flush=True)
    progress = Progress(screen, len(left))

    def hear(mutant: Mutant, outcome: str, test: str) -> None:
        outcomes.add(mutant, outcome, test)
        lives = outcome not in (KILLED, TIMED_OUT)
        progress.step(f"{outcome}: {place_of(mutant)}: {mutant.change}" if lives else "")

    _import_all(footprints.modules)
    plan = partial(plan_trial, footprints=footprints, most_s=given.seconds, grace_s=given.grace)
    run_trials([plan(each) for each in left], hear)
    outcomes.load()
    rows = [(mutant, outcomes.kept[key_of(mutant)]["outcome"]) for mutant in drawn]
    lived = [each for each, outcome in rows if outcome not in (KILLED, TIMED_OUT)]
    covered, branches = (sum(of[i] for of in footprints.branches.values()) for i in (0, 1))
    for file, missing in sorted(footprints.missing.items()):
        if missing:
            print(f"  not taken: {_short(Path(file))}: {', '.join(missing)}", file=screen)
    return Score(
        room.name,
        (covered, branches),
        Counter(outcome for _, outcome in rows),
        len(everything),
        len(found) - len(everything),
        tuple(f"{place_of(each)}: {each.change}" for each in sorted(lived, key=place_of)),
    )


def _state_files(room: Room) -> list[Path]:
    """Return what the outcome of a trial rests on: the room, its tests and what those share."""
    shared = [ROOT / "tests" / "fixtures", *sorted((ROOT / "tests").rglob("conftest.py"))]
    found = [room.source, *(Path(each) for each in room.tests), *shared]
    return [file for each in found for file in (sorted(each.rglob("*.py")) or [each])]


def _footprints(room: Room, file: Path, screen: TextIO) -> Footprints:
    if not file.is_file():
        print(f"{room.name}: running its tests under coverage", file=screen, flush=True)
        made = Child(lambda _: record_footprints(room.source, room.tests, file) or 0)
        status, said = made.wait()
        if status or not file.is_file():
            raise SystemExit(f"{room.name}: the tests did not run (status {status}): {said}")
    found = Footprints.load(file)
    if found.failed:
        file.unlink()
        first = ", ".join(found.failed[:3])
        raise SystemExit(f"{room.name}: {len(found.failed)} tests fail without a mutant: {first}")
    return found


def _import_all(modules: Sequence[str]) -> None:
    """Load the packages of others once: every process that is forked later has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: S112 - one that needs its test is loaded by it
                continue


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge rooms and print a line for each, its survivors above."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--room", action="append", choices=[*ROOMS], help="default: all")
    parser.add_argument("--sample", type=int, default=120, help="mutants per room; 0: all (120)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of tests per mutant, the fastest first (20)"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=15.0,
        help="seconds of computing before a mutant counts as hung (15)",
    )
    parser.add_argument("--source", type=Path, help="a folder of code instead of a room")
    parser.add_argument("--tests", nargs="+", default=[], help="its tests")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutation", help="of outcomes")
    given = parser.parse_args(arguments)
    if (given.source is None) != (not given.tests) or (given.source and given.room):
        parser.error("--source needs --tests, and goes without --room")
    if given.source is None:
        os.chdir(ROOT)
    given.out.mkdir(parents=True, exist_ok=True)
    given.out = given.out.resolve()
    for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "TRADINGBOT_OPTIMISATION"):
        os.environ.setdefault(name, "1")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])
    sys.path.insert(0, str(ROOT / "src"))
    rooms = [ROOMS[name] for name in given.room or ROOMS]
    if given.source:
        rooms = [Room(given.source.name, given.source.resolve(), tuple(given.tests))]
    scores = []
    for room in rooms:
        scores.append(judge_room(room, given, _screen()))
        print("\n".join(scores[-1].lines()), flush=True)
    return 0 if all(score.is_enough for score in scores) else 1


def _screen() -> TextIO:
    """Return the screen as processes see it whose own output is nothing."""
    return os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
