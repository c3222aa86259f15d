"""Which checkpoint a run acts from, and by what."""

from __future__ import annotations

from pathlib import Path

from tradingbot.domain.errors import StorageError
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.acting_reader import acting_of_version_1
from tradingbot.runs.directory import RECORD_FILE, RunDirectory
from tradingbot.runs.loading import Checkpoint, latest_good, load_checkpoint
from tradingbot.runs.manifest import Label

_ACTING: tuple[Label, ...] = ("selected", "best", "final")


def acting_checkpoint(run: RunDirectory) -> Checkpoint:
    """Return what a run acts from: its selected checkpoint; else its best; else its final one.

    Raises:
        StorageError: If there is none, or it is damaged.
    """
    resume = f"tradingbot train --resume {run.id}"
    for label in _ACTING:
        checkpoint, skipped = latest_good(run, to_resume=False, label=label)
        if skipped:  # another checkpoint would trade differently
            raise StorageError(
                f"the {label} checkpoint of a run must be whole to act from",
                was=skipped[0],
                where=str(run.path),
                remedy=f"Go on with the run, which writes it anew: {resume}",
            )
        if checkpoint is not None:
            return checkpoint
    raise StorageError(
        "run must have a checkpoint to act from",
        was="none",
        where=str(run.path),
        remedy=f"Go on with the run: {resume}",
    )


def open_checkpoint(source: Path | RunDirectory | Checkpoint) -> Checkpoint:
    """Return the checkpoint that a run, a folder of either or a checkpoint acts from."""
    if isinstance(source, Checkpoint):
        return source
    if isinstance(source, RunDirectory):
        return acting_checkpoint(source)
    if (source / RECORD_FILE).is_file():
        return acting_checkpoint(RunDirectory.open(source))
    return load_checkpoint(source)


def acting_record(checkpoint: Checkpoint, source: Path | RunDirectory | Checkpoint) -> ActingRecord:
    """Return how a checkpoint acts: by its manifest; in version 1, by the record of its run.

    Raises:
        StorageError: If neither says so.
    """
    if checkpoint.manifest.acting is not None:
        return checkpoint.manifest.acting
    if checkpoint.manifest.version != 1:
        raise StorageError(
            "checkpoint must say how it acts",
            was="no actor in its manifest",
            where=str(checkpoint.folder),
            remedy="Act from a checkpoint that training wrote",
        )
    run = source
    if not isinstance(run, RunDirectory):
        run = RunDirectory.open(checkpoint.folder.parent.parent)
    if run.record.config_sha256 != checkpoint.manifest.config_sha256:
        raise StorageError(
            "a checkpoint of version 1 must lie in its run's folder",
            was=f"run {run.id} with another configuration",
            where=str(checkpoint.folder),
            remedy=f"Put it back into runs/{checkpoint.manifest.run_id}/checkpoints",
        )
    return acting_of_version_1(run.record)
