"""The end of a training: result, ledger, and last of all the status that says `finished`.

A kill in between leaves a run that is not finished: resuming it judges the same weights again,
writes the same result, and is counted no second time.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from tradingbot.runs import RunDirectory
from tradingbot.runs.directory import RECORD_FILE
from tradingbot.runs.ledger import Entry
from tradingbot.runs.manifest import MANIFEST_FILE, CheckpointManifest
from tradingbot.training.checkpoint_writer import JOURNALS
from tradingbot.training.result_file import RESULT_FILE, TrainResult, store_result
from tradingbot.training.trial_ledger import note_result


def conclude_training(
    trial: Entry,
    run: RunDirectory,
    workspace: Path,
    result: TrainResult,
    *,
    selected: CheckpointManifest,
    bars_per_year: float,
    at: datetime,
) -> None:
    """Store a result, record every file that a verdict reads, and call the run finished.

    Args:
        trial: That the run is counted by.
        run: Whose lock is held.
        workspace: Whose ledger.
        result: Of the run.
        selected: Of the checkpoint that the result is about.
        bars_per_year: Of the data.
        at: Now, UTC.

    Raises:
        StorageError: If the disk refuses, or the ledger is not whole; the run is not finished then.
    """
    store_result(run.path, result)
    files = (
        RECORD_FILE,
        RESULT_FILE,
        *(run.journal_path(name).name for name in JOURNALS),
        f"{run.checkpoints.name}/{selected.name}/{MANIFEST_FILE}",
    )
    update = run.status().update
    status = run.finished_status(files, at=at, update=update, steps=selected.steps)
    note_result(
        trial,
        run,
        workspace,
        result,
        record_sha256=status.sha256,
        bars_per_year=bars_per_year,
        at=at,
    )
    run.store_status(status)
