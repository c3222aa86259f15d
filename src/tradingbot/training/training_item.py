"""A whole training as an item of an executor: its learner is in a worker, and starts workers too.

The item is harmless to repeat. A worker that takes it over from one that died goes on from the
newest whole checkpoint, to the bits of a training that nothing killed. Runs, data and results are
files of the workspace, which driver and workers see under the same path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Updated
from tradingbot.executors.executor import Progress, Work, WorkItem, run_items
from tradingbot.executors.identity import require_same
from tradingbot.executors.workers import StartWorkers, workers_by
from tradingbot.plugins.loading import load_from_environment
from tradingbot.runs import RunDirectory
from tradingbot.runs.directory import RECORD_FILE
from tradingbot.runs.record import content_sha256
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import open_data
from tradingbot.training.session import (
    RUNS_FOLDER,
    SessionCallbacks,
    SessionResult,
    begin_run,
    resume_session,
)
from tradingbot.training.tracking import log_artifacts, tracking_callbacks

_LOCK_S = 60.0
"""Until the lock of a worker that is being killed must have died with it."""


@dataclass(frozen=True)
class TrainingOrder:
    """What a worker is to train; plain values."""

    name: str
    """Of the run; drawn by the driver, so that a worker that takes over finds it."""
    config: TrainConfig
    """With its plugins."""
    begins: bool
    """Whether the run is new; else it is gone on with."""
    force: bool = False
    """Accept what differs from the run, and record it."""


def train_by_worker(
    order: TrainingOrder, workspace: Path, start: StartWorkers, progress: Progress
) -> RunDirectory:
    """Let one worker do a training from its beginning, or on from where it is, to its end.

    Args:
        order: What is trained.
        workspace: Under this path for every worker too.
        start: Starts the worker, and in it those of the learner, e.g. its actors.
        progress: Told steps, and workers that are replaced; what it raises ends the worker.

    Raises:
        UserError: If anything about it is not as it must be, or it lost its worker too often.
    """
    whole = workspace.absolute()
    opening = partial(open_training, order, whole, start, _identity_of(order, whole))
    with start(opening, 1) as executor:
        for outcome in run_items(executor, [WorkItem(f"training {order.name}")], progress):
            outcome.result()
    return RunDirectory.open(whole / RUNS_FOLDER / order.name)


def open_training(
    order: TrainingOrder, workspace: Path, start: StartWorkers | None, identity: str
) -> Work:
    """Return what trains: nothing → nothing; the run is on disk.

    Raises:
        DataError: If run, data or configuration are others here than where they were asked for.
    """
    load_from_environment()
    require_same(_identity_of(order, workspace), identity, str(workspace))

    def train(_: None, progress: Progress) -> None:
        progress(0, 0, f"{order.name} begins")
        callbacks = _callbacks(order, progress)
        with workers_by(start, note=lambda text: progress(0, 0, text)):
            if not (workspace / RUNS_FOLDER / order.name / RECORD_FILE).exists():
                begin_run(order.config, workspace, callbacks, name=order.name)
            elif not (order.begins and _is_finished(order, workspace)):
                resume_when_free(
                    partial(
                        resume_session,
                        *(order.name, workspace, callbacks),
                        change=lambda _: order.config,
                        force=order.force,
                    )
                )

    return train


def resume_when_free(resume: Callable[[], SessionResult]) -> SessionResult:
    """Go on with a run as soon as the lock of a worker that is being killed has died with it.

    Raises:
        ConfigError: If a process that lives on holds it.
    """
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            return resume()
        except ConfigError as e:
            if "in use" not in str(e) or time.monotonic() > until:
                raise
            time.sleep(0.1)


def _is_finished(order: TrainingOrder, workspace: Path) -> bool:
    """Tell whether the worker before died between the end of the run and its answer."""
    run = RunDirectory.open(workspace / RUNS_FOLDER / order.name)
    return run.status().state == "finished"


def _identity_of(order: TrainingOrder, workspace: Path) -> str:
    """Return a hash of run, data and configuration as they are in this process."""
    data = open_data(order.config, workspace).identity.data_sha256
    found: dict[str, object] = {"data": data, "config": order.config.config_hash}
    if not order.begins:
        record = RunDirectory.open(workspace / RUNS_FOLDER / order.name).record
        found |= {"created_at": str(record.created_at), "seeds": dict(record.seeds)}
    return content_sha256(found)


def _callbacks(order: TrainingOrder, progress: Progress) -> SessionCallbacks:
    def note(text: str) -> None:
        progress(0, 0, text)

    watch = _Watch(order.config.budget.steps_per_agent, progress)
    return SessionCallbacks(
        event_callbacks=lambda run, config: (watch, *tracking_callbacks(run, config, note=note)),
        note=note,
        preparing=lambda stage, done, total: progress(done, total, f"{stage}, update"),
        finished=lambda run, config: log_artifacts(run, config, note=note),
    )


class _Watch:
    """Tells steps."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress = total, progress

    def take(self, event: Event) -> None:
        """Look at an event."""
        if isinstance(event, Updated):
            self._progress(min(event.steps, self._total), self._total, "step")

    def close(self) -> None:
        """Hold nothing."""
