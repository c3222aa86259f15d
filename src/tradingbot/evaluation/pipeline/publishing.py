"""The page that an evaluation writes, and the receipt of its dossier in the ledger.

JSON and CSV beside the page are `evaluation.tables`.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path

from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Memo
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import Ledger
from tradingbot.training.trial_ledger import data_key

REPORT_FILE = "report.html"


def store_page(folder: Path, dossier: Dossier, memo: Memo) -> Path:
    """Write the page, and return its path.

    Raises:
        MissingExtraError: If what draws pages is not installed.
        StorageError: If the disk refuses.
    """
    from tradingbot.evaluation.report.dossier_page import render_dossier

    path = folder / REPORT_FILE
    write_text(path, render_dossier(dossier, memo))
    return path


def note_dossier(path: Path, run: RunDirectory, workspace: Path, *, at: datetime) -> None:
    """Write the hash of a run's stored dossier into the ledger; it is no trial.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    with storage_errors(path):
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    data = data_key(run.record.data)
    Ledger(workspace).begin("dossier", data=data, run=run.id, config_hash=sha256, at=at)
