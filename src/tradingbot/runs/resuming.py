"""Going on with a run after a kill or an interruption."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tradingbot.domain.errors import StorageError
from tradingbot.runs.compatibility import require_resumable
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.journal import JournalMark, verify_mark
from tradingbot.runs.loading import Checkpoint, latest_good
from tradingbot.runs.record import Resumption, RunPlan
from tradingbot.runs.retention import rewind


@dataclass(frozen=True)
class ResumePoint:
    """Where a run goes on."""

    checkpoint: Checkpoint | None
    """None: nothing was kept yet, so it begins again."""
    skipped: tuple[str, ...] = ()
    """Newer checkpoints that are damaged, with the reason: tell people."""
    forced: tuple[str, ...] = ()

    @property
    def update(self) -> int:
        """Updates that need not be learned again."""
        return 0 if self.checkpoint is None else self.checkpoint.manifest.update

    def mark(self, journal: str) -> JournalMark | None:
        """How far a journal goes at this point; None: from its beginning."""
        return None if self.checkpoint is None else self.checkpoint.manifest.journals.get(journal)


def resume_run(
    run: RunDirectory, plan: RunPlan, *, at: datetime, force: bool = False
) -> ResumePoint:
    """Find where to go on, drop what came later, and write the resumption down.

    Call it under the run's lock, then open each journal with `ResumePoint.mark`.

    Raises:
        ConfigError: If configuration, data or code differ, unless forced.
        StorageError: If checkpoints exist and none is whole.
    """
    forced = require_resumable(run.record, plan, force=force)
    checkpoint, skipped = _whole_checkpoint(run)
    point = ResumePoint(checkpoint, skipped, forced)
    rewind(run, point.update)
    run.record_resumption(
        Resumption(
            at=at,
            update=point.update,
            checkpoint=None if checkpoint is None else checkpoint.manifest.name,
            skipped=skipped,
            forced=forced,
        )
    )
    return point


def _whole_checkpoint(run: RunDirectory) -> tuple[Checkpoint | None, tuple[str, ...]]:
    """Find the newest checkpoint whose journals are whole as well."""
    before: int | None = None
    skipped: tuple[str, ...] = ()
    while True:
        checkpoint, reasons = latest_good(run, before=before)
        skipped = (*skipped, *(reason for reason in reasons if reason not in skipped))
        if checkpoint is None:
            break
        problem = _journal_problem(run, checkpoint)
        if problem is None:
            return checkpoint, skipped
        skipped = (*skipped, f"{checkpoint.manifest.name}: {problem}")
        before = checkpoint.manifest.update
    if skipped:
        rule = "run must have a whole checkpoint to go on from"
        remedy = "Train again; the same seed gives the same result"
        raise StorageError(rule, was="; ".join(skipped), where=str(run.path), remedy=remedy)
    return None, skipped


def _journal_problem(run: RunDirectory, checkpoint: Checkpoint) -> str | None:
    for name, mark in checkpoint.manifest.journals.items():
        try:
            verify_mark(run.journal_path(name), mark)
        except StorageError as e:
            return f"{name}.jsonl: {e.was}"
    return None
