"""The power curve of a run on disk, and what a memo says of it."""

from __future__ import annotations

import json
from pathlib import Path

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.power import PowerCurve
from tradingbot.evaluation.pipeline.receipts import AnalysisReceipts, receipts_of
from tradingbot.runs import RunDirectory

POWER_FOLDER, POWER_FILE = "power", "power.json"


def store_power(folder: Path, curve: PowerCurve, receipts: AnalysisReceipts) -> Path:
    """Write a curve, and note its hash in the ledger.

    Raises:
        StorageError: If the disk refuses, or the ledger is not whole.
    """
    path = folder / POWER_FILE
    text = json.dumps(to_plain(curve), allow_nan=False, indent=1) + "\n"
    write_text(path, text)
    receipts.note(text.encode())
    return path


def power_words(run: RunDirectory, workspace: Path) -> str:
    """Say what would have been found, where the power of the run was measured; else nothing.

    A file that no measurement of this run left, or that was changed since, says nothing.

    Raises:
        StorageError: If the ledger is not whole.
    """
    path = run.path / POWER_FOLDER / POWER_FILE
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    if not receipts_of(run, workspace).knows(content):
        return ""
    try:
        return from_plain(PowerCurve, json.loads(content), name=POWER_FILE).words
    except (ValueError, DataError):
        return ""  # of another version
