"""What is tried on some data is counted when it begins; a training has its result when it ends.

Fits of supervised models are trainings as well, and every access to test bars an
evaluation. What is counted keeps its receipts in its own folder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.runs import RunDirectory
from tradingbot.runs.directory import STATUS_FILE
from tradingbot.runs.ledger import LEDGER_FILE, Entry, Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, began_at, read_receipts
from tradingbot.runs.record import DataIdentity
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
    # A kill may have come between entry and receipt; the record's own hash tells this run from
    # another that had its name, configuration and data.
    own = run.record.sha256 or run.record.config_sha256
    data = data_key(run.record.data)
    entry = ledger.begin_once("training", data=data, run=run.id, config_hash=own, at=at)
    ledger.write_receipt(run.path, entry)
    return entry


def count_fit(model: str, workspace: Path, *, data: str, config_hash: str, at: datetime) -> Entry:
    """Count the fit of a supervised model: a choice may be made by its result.

    The same fit again, after a kill or of a model that was deleted, gives the same model and is no
    further trial. The model has no folder yet; its receipt comes into being with that.

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
    return ledger.begin_once("training", data=data, run=run, config_hash=config_hash, at=at)


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
    entry = ledger.begin_once("evaluation", data=data, run=run, config_hash=config_hash, at=at)
    ledger.write_receipt(folder, entry)  # of a known one too: a kill may have come before it


def require_counted(run: RunDirectory, workspace: Path) -> None:
    """Refuse a run whose training is not in the ledger: its other trials are not there either.

    Raises:
        StorageError: If the run has no receipt, its entry is not in the ledger of the workspace,
            the ledger is not whole, or it lacks an entry that any run or model saw.
    """
    ledger, receipt = Ledger(workspace), run.path / RECEIPT_FILE
    seen = read_receipts(receipt)[0] if receipt.is_file() else None
    own = ledger.entries(run=run.id)
    wanted = ("training", data_key(run.record.data))
    is_there = seen is not None and any(
        (each.kind, each.data) == wanted and each.receipt == seen for each in own
    )
    if not is_there:
        raise StorageError(
            "a run must have its training in the ledger of trials to be evaluated",
            was=f"no {RECEIPT_FILE} in its folder" if seen is None else "another entry, or none",
            where=f"{run.id}, {workspace / LEDGER_FILE}",
            remedy=f"Bring {LEDGER_FILE} along from the workspace it was trained in; a run of a "
            f"version without a ledger is counted by: tradingbot train --resume {run.id}",
        )
    ledger.require_receipts(receipt)
    _require_noted_status(run, own, workspace)


def _require_noted_status(run: RunDirectory, entries: Sequence[Entry], workspace: Path) -> None:
    """Refuse a finished run whose status is not the one that its newest result names.

    Through the status that is every file that a verdict reads. Runs of version 1 have a result
    that names none.
    """
    status, began = run.status(), began_at(run.path)
    results = [e for e in entries if e.kind == "result" and e.trial == began]
    noted = results[-1].config_hash if results else None
    trial = next(each for each in entries if each.sequence == began)
    is_old = status.version == 1 and noted in (None, trial.config_hash)
    if status.state == "finished" and not is_old and noted != status.sha256:
        raise StorageError(
            "a finished run must have the status that its result in the ledger names",
            was="another one",
            where=f"{run.path / STATUS_FILE}, {workspace / LEDGER_FILE}",
            remedy="Restore the run from a copy, or let training judge its weights again: "
            f"tradingbot train --resume {run.id}",
        )


def note_result(
    trial: Entry,
    run: RunDirectory,
    workspace: Path,
    result: TrainResult,
    *,
    record_sha256: str,
    bars_per_year: float,
    at: datetime,
) -> None:
    """Write a finished run's Sharpe ratios on the test part into the ledger: of alpha, and net.

    Args:
        trial: That the run is counted by.
        run: Keeps the receipt.
        workspace: Whose ledger.
        result: Of the run.
        record_sha256: Seal of the status that names every file of the finished run by its hash.
        bars_per_year: Of the data.
        at: Now, UTC.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    agents = result.parts[-1].policy(AGENTS)
    net = math.nan if agents is None else agents.sharpe_annual.estimate
    alpha = math.nan if agents is None else agents.alpha_sharpe_annual
    ledger, yearly = Ledger(workspace), math.sqrt(bars_per_year)
    entry = ledger.finish(
        trial,
        net / yearly,
        alpha_sharpe_per_bar=alpha / yearly,
        at=at,
        record_sha256=record_sha256,
    )
    ledger.write_receipt(run.path, entry)
