"""Trainings as items of an executor: begun, or resumed from the checkpoint that a killed one left.

Synthetic data: two agents, a few dozen updates.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Updated
from tradingbot.executors.executor import Progress, Work, WorkItem
from tradingbot.runs import RunDirectory, final_hash, latest_good
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.session import (
    RUNS_FOLDER,
    SessionCallbacks,
    begin_run,
    resume_session,
)
from tradingbot.training.training_item import resume_when_free

SAVE_EVERY = 3
"""Updates between two checkpoints."""
UPDATES_FILE = "updates.txt"
_STEPS_OF_UPDATE = 8
_SETTINGS: dict[str, object] = {
    "market.start": "2025-06-10",
    "learner.direct.chunk_bars": 4,
    "budget.n_envs": 2,
    "validation.every_updates": 4,
    "validation.save_every_updates": SAVE_EVERY,
    "guards.probe_steps": 8,
    "guards.probe_every": 5,
}


@dataclass(frozen=True)
class TrainingJob:
    """What workers open; plain values."""

    workspace: Path
    """That all nodes see."""
    updates: int = 12
    """Of each training."""
    pause_s: float = 0.0
    """After every update, so that a kill finds trainings under way."""
    dies_at: int = 0
    """Update after which a worker kills itself, the first time; 0: none."""

    def config(self, seed: int) -> TrainConfig:
        """Return what a training follows from."""
        budget = {"budget.steps_per_agent": _STEPS_OF_UPDATE * self.updates, "seed": seed}
        return load_train_config("quick", _SETTINGS | budget)


def training_items(count: int) -> list[WorkItem]:
    """Return trainings that differ by their seed."""
    return [WorkItem(f"training {seed}", seed) for seed in range(count)]


def open_trainings(job: TrainingJob) -> Work:
    """Return what trains: seed → hash of all bits of the finished run."""
    import torch

    torch.set_num_threads(1)

    def train(seed: int, progress: Progress) -> str:
        name = f"seed-{seed}"
        folder = job.workspace / RUNS_FOLDER / name
        watch = _Watch(job, name, progress)
        callbacks = SessionCallbacks(event_callbacks=lambda _run, _config: (watch,))
        if not (folder / "run.json").exists():
            begin_run(job.config(seed), job.workspace, callbacks, name=name)
        elif RunDirectory.open(folder).status().state != "finished":
            resume_when_free(partial(resume_session, name, job.workspace, callbacks))
        return run_bits(RunDirectory.open(folder))

    return train


def run_bits(run: RunDirectory) -> str:
    """Hash weights, state of training and metrics of a finished run."""
    checkpoint, _ = latest_good(run)
    assert checkpoint is not None
    metrics = sha256(run.journal_path("metrics").read_bytes()).hexdigest()
    parts = (final_hash(checkpoint.agent), final_hash(checkpoint.training), metrics)
    return sha256(" ".join(parts).encode()).hexdigest()


def repeated_updates(workspace: Path) -> dict[str, int]:
    """Return training → updates that were made more than once: work that was lost."""
    path = workspace / UPDATES_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = {line.split()[0] for line in lines}
    return {name: _repeats([each for each in lines if each.split()[0] == name]) for name in names}


def _repeats(lines: Sequence[str]) -> int:
    return len(lines) - len(set(lines))


class _Watch:
    """Writes down every update, tells it, and waits."""

    def __init__(self, job: TrainingJob, name: str, progress: Progress) -> None:
        self._job, self._name, self._progress = job, name, progress

    def take(self, event: Event) -> None:
        """Look at an event."""
        if not isinstance(event, Updated):
            return
        line = f"{self._name} {event.sequence}\n".encode()
        opened = os.open(self._job.workspace / UPDATES_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(opened, line)  # one write: lines of several workers stay whole
        finally:
            os.close(opened)
        self._progress(event.sequence, self._job.updates, self._name)
        time.sleep(self._job.pause_s)
        died = self._job.workspace / f"{self._name}.died"
        if event.sequence == self._job.dies_at and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        """Hold nothing."""
