"""The ledger of trials: everything that was tried on some data, counted by the product itself.

One JSON object per line in `ledger.jsonl` of the workspace. Every entry holds the hash of the one
before it, so that none can be changed or taken out of the middle. Runs and models keep witnesses
(`runs.receipt`) of the entries made for them: a ledger that was cut or replaced is found out by
those that remain. Deleting runs changes no count.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal

from tradingbot.runs.line_chain import ChainedLine, LineChain
from tradingbot.runs.receipt import (
    RECEIPT_FILE,
    LedgerReceipt,
    damaged_ledger,
    read_receipts,
    write_receipts,
)

LEDGER_FILE = "ledger.jsonl"
Kind = Literal[
    "training", "tuning", "evaluation", "check", "result", "dossier", "analysis", "piece"
]
COUNTED: tuple[Kind, ...] = ("training", "tuning", "evaluation")
"""Trials that a choice may be made among. A `check` (another seed or window of a dossier) is kept
too, but no result is chosen among checks; a `result` belongs to a trial before it; a `dossier`
or `analysis` (in older ledgers `piece`) is a file that an evaluation left."""


class Entry(ChainedLine):
    """One line of the ledger."""

    LATER: ClassVar[tuple[str, ...]] = ("alpha_sharpe_per_bar",)

    kind: Kind
    data: str
    """Hash of the bars that were looked at."""
    run: str
    config_hash: str
    """Of what was tried: configuration, or the record of the run; of a dossier or analysis the
    SHA-256 of its file; of the result of a run the seal of its status."""
    trial: int | None = None
    """Sequence of the trial that a result belongs to."""
    sharpe_per_bar: float | None = None
    """Of the portfolio's net return on the test part; None before it is known."""
    alpha_sharpe_per_bar: float | None = None
    """Of the mean alpha of its accounts there; None before it is known, and in results of
    versions that noted the net return alone."""
    previous: str
    """Hash of the entry before."""

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
    """Of its newest net return; None where it never came to a result."""
    alpha_sharpe_per_bar: float | None = None
    """Of its newest alpha; None where that was not noted."""

    @property
    def judged_sharpe_per_bar(self) -> float | None:
        """Of what verdicts judge, alpha; of the net return where nothing else was noted."""
        alpha = self.alpha_sharpe_per_bar
        return self.sharpe_per_bar if alpha is None else alpha


class Ledger:
    """Reads and extends the ledger of a workspace."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; the file is made by the first entry."""
        self.path = workspace / LEDGER_FILE

    def require_whole(self) -> None:
        """Verify that all entries follow from each other.

        Raises:
            StorageError: If one was changed, taken out or damaged.
        """
        self._chain().entries(last=1)

    def entries(self, *, run: str | None = None, data: str | None = None) -> tuple[Entry, ...]:
        """Read entries, and verify that all of them follow from each other.

        Args:
            run: Only those of this run or model.
            data: Only those of these bars.

        Raises:
            StorageError: If one was changed, taken out or damaged.
        """
        return self._chain().entries(run=run, data=data)

    def trials(self, data: str, *, kinds: tuple[Kind, ...] = COUNTED) -> tuple[Trial, ...]:
        """Return what was tried on some data, with the newest result of each.

        Args:
            data: Hash of the bars.
            kinds: Which entries are trials.

        Raises:
            StorageError: If the ledger is not whole.
        """
        entries = self.entries(data=data)
        results = {
            each.trial: (each.sharpe_per_bar, each.alpha_sharpe_per_bar)
            for each in entries
            if each.kind == "result" and each.sharpe_per_bar is not None
        }
        none = (None, None)
        return tuple(
            Trial(
                *(each.sequence, each.kind, each.run, each.config_hash),
                *results.get(each.sequence, none),
            )
            for each in entries
            if each.kind in kinds
        )

    def begin(self, kind: Kind, *, data: str, run: str, config_hash: str, at: datetime) -> Entry:
        """Count a trial, before it is made: one that is killed was tried as well.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        with self._alone() as (chain, descriptor):
            asked = {"kind": kind, "data": data, "run": run, "config_hash": config_hash}
            return chain.append(descriptor, at, **asked)

    def begin_once(
        self, kind: Kind, *, data: str, run: str, config_hash: str, at: datetime
    ) -> Entry:
        """Count a trial unless the same one is there already; return its entry.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        asked = {"kind": kind, "data": data, "run": run, "config_hash": config_hash}
        with self._alone() as (chain, descriptor):
            own: tuple[Entry, ...] = chain.entries(run=run, config_hash=config_hash)
            same = next((each for each in own if (each.kind, each.data) == (kind, data)), None)
            return same or chain.append(descriptor, at, **asked)

    def finish(
        self,
        trial: Entry,
        sharpe_per_bar: float,
        *,
        alpha_sharpe_per_bar: float,
        at: datetime,
        record_sha256: str | None = None,
    ) -> Entry:
        """Write down the result of a trial; NaN is none.

        Args:
            trial: Its entry.
            sharpe_per_bar: Of the portfolio's net return on the test part.
            alpha_sharpe_per_bar: Of the mean alpha of its accounts there.
            at: Now.
            record_sha256: Seal of the status of the run, where a run is finished by it.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        figures = {
            name: value if math.isfinite(value) else None
            for name, value in (
                ("sharpe_per_bar", sharpe_per_bar),
                ("alpha_sharpe_per_bar", alpha_sharpe_per_bar),
            )
        }
        own = trial.model_dump(include={"data", "run", "config_hash"})
        own |= {"config_hash": record_sha256 or trial.config_hash, "trial": trial.sequence}
        with self._alone() as (chain, descriptor):
            return chain.append(descriptor, at, kind="result", **own, **figures)

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
        hashes = self._chain().hashes
        own = self.path.parent.glob(f"*/*/{RECEIPT_FILE}")
        for file in sorted({*own, *(each for each in more if each.is_file())}):
            for receipt in read_receipts(file):
                place = receipt.sequence
                if not 0 <= place < len(hashes) or hashes[place] != receipt.sha256:
                    who = f"{file.parent.parent.name}/{file.parent.name}"
                    was = f"entry {place}, which {who} saw, is not there"
                    raise damaged_ledger(self.path, was)

    def _chain(self) -> LineChain[Entry]:
        return LineChain(self.path, Entry, damaged_ledger)

    def _alone(self) -> AbstractContextManager[tuple[LineChain[Entry], int]]:
        """Let one process at a time in, with the file open; the lock dies with its process."""
        return LineChain.alone(self.path, Entry, damaged_ledger)
