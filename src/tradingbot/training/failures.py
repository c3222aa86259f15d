"""How a run ends that could not be trained: its status says so, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from tradingbot.domain.errors import StorageError, TrainingError, UserError
from tradingbot.runs import RunDirectory
from tradingbot.runs.record import RunState


@contextmanager
def failures_recorded(run: RunDirectory) -> Iterator[None]:
    """Write into the status why the block could not be finished, and let the reason pass.

    `halted` where a guard stopped training, `failed` for any other reason a user can do something
    about. An interruption is no failure.
    """
    try:
        yield
    except UserError as e:
        # A disk that refuses checkpoints may refuse this too; the first reason is the one to tell.
        state: RunState = "halted" if isinstance(e, TrainingError) else "failed"
        try:
            status = run.status()
            run.write_status(
                state, at=datetime.now(UTC), update=status.update, steps=status.steps, reason=str(e)
            )
        except StorageError:
            raise e from None
        raise
