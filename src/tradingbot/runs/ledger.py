"""The ledger of trials: everything that was tried on some data, counted by the product itself.

One JSON object per line in `ledger.jsonl` of the workspace. Every entry holds the hash of the one
before it, so that none can be changed or taken out of the middle. Every run keeps a witness of the
entry that began it: a ledger that was cut or replaced is found out by the runs that remain.
Deleting runs changes no count.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.domain.errors import StorageError

LEDGER_FILE, WITNESS_FILE = "ledger.jsonl", "ledger.json"
Kind = Literal["training", "tuning", "evaluation", "check", "result", "dossier"]
COUNTED: tuple[Kind, ...] = ("training", "tuning", "evaluation")
"""Trials that somebody may choose among. A `check` (another seed or window of a dossier) is kept
too, but no result is chosen among checks; a `result` belongs to a trial before it; a `dossier` is
the file that an evaluation left."""
_FIRST = "0" * 64


class Entry(BaseModel):
    """One line of the ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    at: str
    """ISO, UTC; for people, nothing depends on it."""
    kind: Kind
    data: str
    """Hash of the bars that were looked at."""
    run: str
    config_hash: str
    """Of what was tried; of a dossier the SHA-256 of its file."""
    trial: int | None = None
    """Sequence of the trial that a result belongs to."""
    sharpe_per_bar: float | None = None
    """Of the portfolio, on the test part; None before it is known."""
    previous: str
    """Hash of the entry before."""

    @property
    def sha256(self) -> str:
        """Hash of this entry, the one before it included."""
        return hashlib.sha256(_line(self)).hexdigest()


class Witness(BaseModel):
    """How far the ledger went when a run began."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    sha256: str


@dataclass(frozen=True)
class Trial:
    """Something that was tried on the data."""

    sequence: int
    kind: Kind
    run: str
    config_hash: str
    sharpe_per_bar: float | None
    """Its newest; None where it never came to a result."""


class Ledger:
    """Reads and extends the ledger of a workspace."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; the file is made by the first entry."""
        self.path = workspace / LEDGER_FILE

    def entries(self) -> tuple[Entry, ...]:
        """Read and verify every entry.

        Raises:
            StorageError: If one was changed, taken out or damaged.
        """
        if not self.path.is_file():
            return ()
        with storage_errors(self.path):
            content = self.path.read_bytes()
        return tuple(_verified(_whole_lines(content), self.path))

    def trials(self, data: str, *, kinds: tuple[Kind, ...] = COUNTED) -> tuple[Trial, ...]:
        """Return what was tried on some data, with the newest result of each.

        Args:
            data: Hash of the bars.
            kinds: Which entries are trials.

        Raises:
            StorageError: If the ledger is not whole.
        """
        entries = self.entries()
        results = {
            each.trial: each.sharpe_per_bar
            for each in entries
            if each.kind == "result" and each.sharpe_per_bar is not None
        }
        return tuple(
            Trial(each.sequence, each.kind, each.run, each.config_hash, results.get(each.sequence))
            for each in entries
            if each.kind in kinds and each.data == data
        )

    def begin(self, kind: Kind, *, data: str, run: str, config_hash: str, at: datetime) -> Entry:
        """Count a trial, before it is made: one that is killed was tried as well.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        return self._append(
            at=at.isoformat(timespec="seconds"),
            kind=kind,
            data=data,
            run=run,
            config_hash=config_hash,
        )

    def finish(self, trial: Entry, sharpe_per_bar: float, *, at: datetime) -> Entry:
        """Write down what came of a trial; NaN is no result.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        return self._append(
            at=at.isoformat(timespec="seconds"),
            kind="result",
            data=trial.data,
            run=trial.run,
            config_hash=trial.config_hash,
            trial=trial.sequence,
            sharpe_per_bar=sharpe_per_bar if math.isfinite(sharpe_per_bar) else None,
        )

    def require_witnessed(self, runs: Path) -> None:
        """Compare the ledger with what every run of a folder saw of it.

        Raises:
            StorageError: If a run saw an entry that is not there any more.
        """
        entries = self.entries()
        for file in sorted(runs.glob(f"*/{WITNESS_FILE}")):
            witness = read_witness(file)
            seen = entries[witness.sequence] if witness.sequence < len(entries) else None
            if seen is None or seen.sha256 != witness.sha256:
                raise _damaged(
                    self.path,
                    f"entry {witness.sequence}, which run {file.parent.name} saw, is not there",
                )

    def _append(self, **fields: Any) -> Entry:
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with storage_errors(self.path), _alone(descriptor):
                content = _content(descriptor)
                lines = _whole_lines(content)
                entries = list(_verified(lines, self.path))
                previous = entries[-1].sha256 if entries else _FIRST
                entry = Entry(sequence=len(entries), previous=previous, **fields)
                _write_end(descriptor, sum(map(len, lines)), _line(entry))
            return entry
        finally:
            os.close(descriptor)


def write_witness(run: Path, entry: Entry) -> None:
    """Keep in a run's folder what it saw of the ledger.

    Raises:
        StorageError: If the disk refuses.
    """
    witness = Witness(sequence=entry.sequence, sha256=entry.sha256)
    write_text(run / WITNESS_FILE, witness.model_dump_json() + "\n")


def read_witness(path: Path) -> Witness:
    """Read what a run saw of the ledger.

    Raises:
        StorageError: If the file is damaged.
    """
    try:
        with storage_errors(path):
            return Witness.model_validate_json(path.read_bytes())
    except ValidationError as e:
        raise _damaged(path, "unreadable") from e


@contextmanager
def _alone(descriptor: int) -> Iterator[None]:
    """Let one process at a time extend the file; the lock dies with its process."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _write_end(descriptor: int, end: int, line: bytes) -> None:
    """Write a line at the end; what a kill left of a line there goes. A refusing disk adds none."""
    os.ftruncate(descriptor, end)
    try:
        written = 0
        while written < len(line):
            written += os.pwrite(descriptor, line[written:], end + written)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _whole_lines(content: bytes) -> list[bytes]:
    lines = content.splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def _verified(lines: list[bytes], path: Path) -> Iterator[Entry]:
    previous = _FIRST
    for sequence, line in enumerate(lines):
        try:
            entry = Entry.model_validate_json(line)
        except ValidationError as e:
            raise _damaged(path, f"line {sequence + 1} is no entry") from e
        if entry.sequence != sequence or entry.previous != previous or _line(entry) != line:
            raise _damaged(path, f"line {sequence + 1} does not follow from the one before")
        previous = entry.sha256
        yield entry


def _line(entry: Entry) -> bytes:
    return json.dumps(entry.model_dump(), separators=(",", ":")).encode() + b"\n"


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "the ledger of trials must be whole",
        was=was,
        where=str(path),
        remedy="Restore it from a backup, or bring it along with runs of another workspace: "
        "a deflated Sharpe ratio needs the true count of trials",
    )
