"""What a run leaves on disk while it trains: checkpoints, journals in step, and why it failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import torch
from torch import Tensor

from tradingbot.agents.network_policy import TRADES
from tradingbot.data.publishing import publish_folder
from tradingbot.domain.errors import StorageError, TrainingError, UserError
from tradingbot.domain.events.event import Event, event_values
from tradingbot.domain.events.training import Ended, Evaluated, Updated
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import tensors_below
from tradingbot.learning.trainer_hooks import Snapshot
from tradingbot.learning.trainer_tensors import as_lists, copied_tensors, to_host
from tradingbot.runs import CheckpointContent, Journal, RunDirectory, save_checkpoint
from tradingbot.runs.acting import FROZEN_ENCODER, ActingRecord
from tradingbot.runs.loading import require_checkpoint
from tradingbot.runs.manifest import CheckpointKind, CheckpointManifest, checkpoint_name
from tradingbot.runs.record import RunState
from tradingbot.runs.resuming import ResumePoint

JOURNALS = ("preparation", "metrics", "evaluations", "recorder")
"""Figures of pre-training and cloning, of every update, of every evaluation, and what the flight
recorder saw."""


class CheckpointWriter:
    """Keeps one run; its lock must be held."""

    def __init__(self, run: RunDirectory, point: ResumePoint | None) -> None:
        """Open the journals where the checkpoint left them; from the beginning without one."""
        self.run = run
        self._journals = {
            name: Journal(run.journal_path(name), mark=point.mark(name) if point else None)
            for name in JOURNALS
        }
        self._networks: Mapping[str, Any] = {}
        self._normaliser: Mapping[str, Tensor] = {}
        self._acting: ActingRecord | None = None
        checkpoint = point.checkpoint if point else None
        self._newest = checkpoint.manifest if checkpoint else None

    def save_networks_of(
        self,
        networks: Mapping[str, Any],
        normaliser: Mapping[str, Tensor],
        acting: ActingRecord,
    ) -> None:
        """Say which weights checkpoints hold for acting, and how they act."""
        self._networks, self._normaliser, self._acting = networks, normaliser, acting

    def save(self, snapshot: Snapshot) -> None:
        """Write a checkpoint, and how far the journals go with it.

        Raises:
            StorageError: If the disk refuses; what was kept before still is.
        """
        kind = _kind_of(snapshot)
        content = CheckpointContent(
            agent=self.acting_tensors(),
            training=snapshot.tensors,
            normaliser=self._normaliser,
            steps=snapshot.steps,
            metrics={"score": snapshot.score, "updates": float(snapshot.updates)},
            journals={name: journal.mark() for name, journal in self._journals.items()},
            labels=snapshot.labels,
            parent=self._parent_of(checkpoint_name(snapshot.sequence, kind)),
            acting=self._acting,
        )
        self._newest = save_checkpoint(self.run, kind, snapshot.sequence, content)
        self.run.write_status(
            "running", at=datetime.now(UTC), update=snapshot.sequence, steps=snapshot.steps
        )
        publish_folder(self.run.path)

    def save_selected(self, trading: Collection[str], ended: Ended) -> CheckpointManifest:
        """Write the selected policy: the networks as they are now, and which agents trade.

        Args:
            trading: Names of the agents that trade; the others stay out.
            ended: How training ended.

        Raises:
            StorageError: If the disk refuses; what was kept before still is.
        """
        trades = torch.tensor([name in trading for name in self.run.record.data.agents])
        content = CheckpointContent(
            agent={**self.acting_tensors(), TRADES: trades},
            normaliser=self._normaliser,
            steps=ended.steps,
            metrics={"score": ended.best_mean_score},
            parent=self._parent_of(checkpoint_name(ended.sequence, "selected")),
            acting=self._acting,
        )
        return save_checkpoint(self.run, "selected", ended.sequence, content)

    def _parent_of(self, name: str) -> str | None:
        """Return the hash of the weights before a checkpoint.

        One that is written again, because a kill came before the next, keeps the parent it had.
        """
        newest = self._newest
        if newest is None:
            return None
        return newest.parent if newest.name == name else newest.weights_sha256

    def load_healthy(self) -> dict[str, Tensor]:
        """Return the training tensors of the newest checkpoint that training may return to.

        Raises:
            StorageError: If there is none that is whole.
        """
        rule = "a run must have a healthy checkpoint to return to"
        remedy = "Train again with a lower learning rate"
        found = require_checkpoint(self.run, "healthy", rule=rule, remedy=remedy, to_resume=True)
        return found.training

    def acting_tensors(self) -> dict[str, Tensor]:
        """Weights that acting needs."""
        return copied_tensors(self._networks)

    def take(self, event: Event) -> None:
        """Write down what can be drawn as a curve; nothing that depends on speed."""
        if isinstance(event, Updated):
            self._journals["metrics"].append(event_values(event, with_time=False))
        elif isinstance(event, Evaluated):
            self._journals["evaluations"].append(event_values(event))

    def prepared(self, stage: str, update: int, metrics: Metrics) -> None:
        """Write down an update of pre-training or cloning."""
        figures = as_lists(to_host(metrics))
        self._journals["preparation"].append({"stage": stage, "update": update, **figures})

    def record(self, row: Mapping[str, Any]) -> None:
        """Write down what the flight recorder saw."""
        self._journals["recorder"].append(row)

    def close(self) -> None:
        """Give the files back."""
        for journal in self._journals.values():
            journal.close()


def stored_encoder(point: ResumePoint | None) -> dict[str, Tensor] | None:
    """Return the weights of the frozen encoder in a checkpoint; None where there is none."""
    checkpoint = point.checkpoint if point else None
    return tensors_below(checkpoint.agent if checkpoint else {}, FROZEN_ENCODER) or None


def _kind_of(snapshot: Snapshot) -> CheckpointKind:
    kinds: tuple[CheckpointKind, ...] = ("final", "best", "start")
    return next((kind for kind in kinds if kind in snapshot.labels), "last")


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
