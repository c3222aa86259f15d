"""What is tried on some data is counted when it begins; a training has its result when it ends.

Fits of supervised models are trainings as well, and every access to test bars an
evaluation. What is counted keeps its receipts in its own folder.
"""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import LEDGER_FILE, Entry, Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts
from tradingbot.runs.record import DataIdentity, content_sha256
from tradingbot.training.result_file import TrainResult


def data_key(data: DataIdentity) -> str:
    """Return what trials of the same data have in common: the bars, whatever is made of them.

    Records of older versions have no hash of a generated market's bars; the world's stands for it.
    """
    return data.dataset_sha256 or data.data_sha256


def count_training(run: RunDirectory, workspace: Path, *, at: datetime) -> Entry:
    """Count a run in the ledger of its workspace, once, however often it is resumed.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    ledger, receipt = Ledger(workspace), run.path / RECEIPT_FILE
    if receipt.is_file():
        ledger.require_receipts(receipt)
        return ledger.entries()[read_receipts(receipt)[0].sequence]
    entry = ledger.begin(
        "training",
        data=data_key(run.record.data),
        run=run.id,
        config_hash=content_sha256(run.record.config),
        at=at,
    )
    ledger.write_receipt(run.path, entry)
    return entry


def count_fit(model: str, workspace: Path, *, data: str, config_hash: str, at: datetime) -> Entry:
    """Count the fit of a supervised model: a choice may be made by its result.

    The model has no folder yet; its receipt is written there when it has.

    Args:
        model: Name of the model.
        workspace: Whose ledger.
        data: Hash of the bars, as `data_key` has it.
        config_hash: Hash of everything that the fit follows from.
        at: Now.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    ledger, run = Ledger(workspace), model_key(model)
    return ledger.begin("training", data=data, run=run, config_hash=config_hash, at=at)


def model_key(model: str) -> str:
    """Return what a supervised model is called in the ledger; no run can have that name."""
    return f"supervised/{model}"


def count_evaluation(
    run: str, workspace: Path, folder: Path, *, data: str, config_hash: str, at: datetime
) -> None:
    """Count an access to test bars, once for the same run or model under the same settings.

    Args:
        run: Id of the run, or `model_key` of a model.
        workspace: Whose ledger.
        folder: Of the run or model; keeps the receipt.
        data: Hash of the bars, as `data_key` has it.
        config_hash: Hash of weights, bars, costs and whatever else the figures follow from.
        at: Now.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    ledger = Ledger(workspace)
    wanted = ("evaluation", data, run, config_hash)
    known = (
        each
        for each in ledger.entries()
        if (each.kind, each.data, each.run, each.config_hash) == wanted
    )
    entry = next(known, None) or ledger.begin(
        "evaluation", data=data, run=run, config_hash=config_hash, at=at
    )
    ledger.write_receipt(folder, entry)  # of a known one too: a kill may have come before it


def require_counted(run: RunDirectory, workspace: Path) -> None:
    """Refuse a run whose training is not in the ledger: its other trials are not there either.

    Raises:
        StorageError: If the run has no receipt, its entry is not in the ledger of the workspace,
            the ledger is not whole, or it lacks an entry that any run or model saw.
    """
    ledger, receipt = Ledger(workspace), run.path / RECEIPT_FILE
    entries = ledger.entries()
    seen = read_receipts(receipt)[0] if receipt.is_file() else None
    entry = entries[seen.sequence] if seen and seen.sequence < len(entries) else None
    wanted = ("training", run.id, data_key(run.record.data))
    is_own = entry is not None and (entry.kind, entry.run, entry.data) == wanted
    if seen is None or entry is None or not is_own or entry.sha256 != seen.sha256:
        raise StorageError(
            "a run must have its training in the ledger of trials to be evaluated",
            was=f"no {RECEIPT_FILE} in its folder" if seen is None else "another entry, or none",
            where=f"{run.id}, {workspace / LEDGER_FILE}",
            remedy=f"Bring {LEDGER_FILE} along from the workspace it was trained in; a run of a "
            f"version without a ledger is counted by: tradingbot train --resume {run.id}",
        )
    ledger.require_receipts(receipt)


def note_result(
    trial: Entry,
    run: RunDirectory,
    workspace: Path,
    result: TrainResult,
    *,
    bars_per_year: float,
    at: datetime,
) -> None:
    """Write a finished run's Sharpe ratio on the test part into the ledger.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    agents = result.parts[-1].policy(AGENTS)
    sharpe = math.nan if agents is None else agents.sharpe_annual.estimate
    ledger = Ledger(workspace)
    entry = ledger.finish(trial, sharpe / math.sqrt(bars_per_year), at=at)
    ledger.write_receipt(run.path, entry)
