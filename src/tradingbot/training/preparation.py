"""What takes long before the first update: pre-training, embedding, cloning.

All of it is a function of configuration, data and seed: a run that is interrupted here begins here
again, and ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.networks.view import TableView
from tradingbot.runs.embeddings import kept_embeddings
from tradingbot.training.setup import TrainingSetup

PRETRAINING, CLONING = "pre-train", "clone"
"""Stages."""


@dataclass(frozen=True)
class PreparationCallbacks:
    """Callbacks of progress, and the request to stop."""

    report: Callable[[str, int, int, Metrics], None] = lambda _stage, _done, _total, _metrics: None
    """Told (stage, updates so far, of how many, metrics)."""
    interrupted: Callable[[], bool] = lambda: False
    """Asked before every update."""


def prepare(
    setup: TrainingSetup,
    workspace: Path | None = None,
    callbacks: PreparationCallbacks | None = None,
) -> bool:
    """Make a learner ready for its first update; return whether it is: else someone interrupted.

    Args:
        setup: Pre-trained and cloned in place, where it has what does so.
        workspace: Embeddings are kept there; nowhere by default.
        callbacks: Called with progress and notes.
    """
    callbacks = callbacks or PreparationCallbacks()
    pretrainer, cloner = setup.pretrainer, setup.cloner
    if pretrainer is not None:
        report = _of_stage(callbacks, PRETRAINING, pretrainer.config.updates)
        if pretrainer.complete(report, callbacks.interrupted) is None:
            return False
    show_embeddings(setup, workspace)
    if cloner is None:
        return True
    return cloner.complete(
        _of_stage(callbacks, CLONING, cloner.config.updates), callbacks.interrupted
    )


def restore(
    setup: TrainingSetup, encoder: Mapping[str, Tensor], workspace: Path | None = None
) -> None:
    """Take the weights of a frozen encoder; one that learns comes with the learner's state."""
    if setup.frozen is not None:
        setup.frozen.load_state_dict(dict(encoder))
    show_embeddings(setup, workspace)


def show_embeddings(setup: TrainingSetup, workspace: Path | None) -> None:
    """Let agents see through the encoder as it is now; a frozen one does not learn any more."""
    view, encoder = setup.view, setup.frozen
    if encoder is None:
        view.refresh()
        return
    assert isinstance(view, TableView)
    table = setup.learner.task.table
    encoder.requires_grad_(False)
    view.table.copy_(kept_embeddings(encoder, table, workspace).reshape(view.table.shape))


def _of_stage(
    callbacks: PreparationCallbacks, stage: str, total: int
) -> Callable[[int, Metrics], None]:
    return lambda done, metrics: callbacks.report(stage, done, total, metrics)
