"""Receipts of what was measured of a run: hashes of its files in the ledger of the workspace."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import Ledger
from tradingbot.runs.receipt import began_at
from tradingbot.training.trial_ledger import data_key


@dataclass(frozen=True)
class AnalysisReceipts:
    """Notes the hash of every analysis of one run; every process has its own."""

    workspace: Path
    """Whose ledger."""
    run: str
    """Id of the run."""
    data: str
    """Hash of the bars, as `data_key` has it."""
    began_at: int = 0
    """Entries before it are of another run that had the name."""
    _known: set[str] = field(default_factory=set, repr=False)
    """What the ledger was found to hold; no entry ever leaves it, so it is read for others only."""

    def note(self, content: bytes) -> None:
        """Write the hash of a kept file into the ledger; it is no trial.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        if self.knows(content):
            return
        sha256 = hashlib.sha256(content).hexdigest()
        Ledger(self.workspace).begin(
            "analysis", data=self.data, run=self.run, config_hash=sha256, at=datetime.now(UTC)
        )
        self._known.add(sha256)

    def knows(self, content: bytes) -> bool:
        """Tell whether a file is one that was noted for this run.

        Raises:
            StorageError: If the ledger is not whole.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self._known:
            self._known.update(
                each.config_hash
                for each in Ledger(self.workspace).entries(run=self.run, data=self.data)
                if each.kind == "analysis" and each.sequence >= self.began_at
            )
        return sha256 in self._known


def receipts_of(run: RunDirectory, workspace: Path) -> AnalysisReceipts:
    """Return the receipts of a run's analyses.

    Raises:
        StorageError: If what the run saw of the ledger is damaged.
    """
    return AnalysisReceipts(workspace, run.id, data_key(run.record.data), began_at(run.path))
