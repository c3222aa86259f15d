"""The ledger of trials: everything that was tried on some data, counted by the product itself.

One JSON object per line in `ledger.jsonl` of the workspace. Every entry holds the hash of the one
before it, so that none can be changed or taken out of the middle. Runs and models keep witnesses
(`runs.receipt`) of the entries made for them: a ledger that was cut or replaced is found out by
those that remain. Deleting runs changes no count.
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

from pydantic import ValidationError

from tradingbot.data.atomic import storage_errors
from tradingbot.runs.journal import write_at_end
from tradingbot.runs.receipt import (
    RECEIPT_FILE,
    LedgerReceipt,
    damaged_ledger,
    read_receipts,
    write_receipts,
)
from tradingbot.runs.record import StoredModel

LEDGER_FILE = "ledger.jsonl"
Kind = Literal[
    "training", "tuning", "evaluation", "check", "result", "dossier", "analysis", "piece"
]
COUNTED: tuple[Kind, ...] = ("training", "tuning", "evaluation")
"""Trials that a choice may be made among. A `check` (another seed or window of a dossier) is kept
too, but no result is chosen among checks; a `result` belongs to a trial before it; a `dossier`
or `analysis` (in older ledgers `piece`) is a file that an evaluation left."""
_FIRST = "0" * 64


class Entry(StoredModel):
    """One line of the ledger."""

    sequence: int
    at: str
    """ISO, UTC; for people, nothing depends on it."""
    kind: Kind
    data: str
    """Hash of the bars that were looked at."""
    run: str
    config_hash: str
    """Of what was tried; of a dossier or analysis the SHA-256 of its file."""
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

    @property
    def receipt(self) -> LedgerReceipt:
        """The receipt that a run or model keeps of it."""
        return LedgerReceipt(sequence=self.sequence, sha256=self.sha256)


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
        if not self.path.exists():
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
        return self._append(at, kind=kind, data=data, run=run, config_hash=config_hash)

    def finish(self, trial: Entry, sharpe_per_bar: float, *, at: datetime) -> Entry:
        """Write down the result of a trial; NaN is none.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        figure = sharpe_per_bar if math.isfinite(sharpe_per_bar) else None
        own = trial.model_dump(include={"data", "run", "config_hash"})
        return self._append(at, kind="result", **own, trial=trial.sequence, sharpe_per_bar=figure)

    def write_receipt(self, folder: Path, entry: Entry) -> None:
        """Keep in a folder of a run or model that it saw an entry, beside what it saw before.

        Raises:
            StorageError: If what it saw before is damaged, or the disk refuses.
        """
        file = folder / RECEIPT_FILE
        with self._alone():  # others that count for the same run wait
            before = read_receipts(file) if file.is_file() else ()
            if entry.receipt not in before:
                write_receipts(folder, (*before, entry.receipt))

    def require_receipts(self, *more: Path) -> None:
        """Compare the ledger with what every run and model of the workspace saw of it.

        Args:
            more: Witnesses that lie elsewhere; absent ones saw nothing.

        Raises:
            StorageError: If one saw an entry that is not there any more.
        """
        entries = self.entries()
        own = self.path.parent.glob(f"*/*/{RECEIPT_FILE}")
        for file in sorted({*own, *(each for each in more if each.is_file())}):
            for receipt in read_receipts(file):
                if not _is_among(entries, receipt):
                    who = f"{file.parent.parent.name}/{file.parent.name}"
                    was = f"entry {receipt.sequence}, which {who} saw, is not there"
                    raise damaged_ledger(self.path, was)

    def _append(self, at: datetime, **fields: Any) -> Entry:
        fields["at"] = at.isoformat(timespec="seconds")
        with self._alone() as descriptor, storage_errors(self.path):
            lines = _whole_lines(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
            entries = list(_verified(lines, self.path))
            previous = entries[-1].sha256 if entries else _FIRST
            entry = Entry(sequence=len(entries), previous=previous, **fields)
            end = sum(map(len, lines))
            os.ftruncate(descriptor, end)  # what a kill left of a line there goes
            write_at_end(descriptor, end, _line(entry), to_disk=True)
        return entry

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Let one process at a time in, with the file open; the lock dies with its process."""
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with storage_errors(self.path):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)


def _is_among(entries: tuple[Entry, ...], receipt: LedgerReceipt) -> bool:
    """Tell whether what was seen is still at its place."""
    if not 0 <= receipt.sequence < len(entries):
        return False
    return entries[receipt.sequence].sha256 == receipt.sha256


def _whole_lines(content: bytes) -> list[bytes]:
    lines = content.splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def _verified(lines: list[bytes], path: Path) -> Iterator[Entry]:
    previous = _FIRST
    for sequence, line in enumerate(lines):
        try:
            entry = Entry.model_validate_json(line)
        except ValidationError as e:
            raise damaged_ledger(path, f"line {sequence + 1} is no entry") from e
        if entry.sequence != sequence or entry.previous != previous or _line(entry) != line:
            raise damaged_ledger(path, f"line {sequence + 1} does not follow from the one before")
        previous = entry.sha256
        yield entry


def _line(entry: Entry) -> bytes:
    return json.dumps(entry.model_dump(), separators=(",", ":")).encode() + b"\n"
