"""What takes long before the first update: pre-training, embedding, cloning.

All of it is a function of configuration, data and seed: a run that is interrupted here begins here
again, and ends with the same bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tradingbot.domain.errors import StorageError
from tradingbot.learning.learner import Metrics
from tradingbot.networks.embedding import embed_table, weights_hash
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.view import TableView
from tradingbot.runs import final_hash
from tradingbot.runs.embeddings import cached_embeddings
from tradingbot.training.setup import TrainingSetup

EMBEDDINGS_FOLDER = "embeddings"
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


def kept_embeddings(encoder: Encoder, table: Tensor, workspace: Path | None) -> Tensor:
    """Return embeddings (M, T, D) of a table, from disk where they were made before.

    Threads and torch's version decide the last bits of a sum: they are part of the key, so that a
    run has the same bits whether or not anything was kept. A GPU computes them in less time than a
    disk reads them: what it makes is not kept.

    Args:
        encoder: On the device of the table.
        table: (M, T, F).
        workspace: Where embeddings are kept; None: nowhere. A disk without room changes nothing.
    """
    if workspace is None or table.device.type != "cpu":
        return embed_table(encoder, table)
    circumstances = f"{torch.get_num_threads()} {torch.__version__}"
    key = hashlib.sha256(f"{weights_hash(encoder)} {circumstances}".encode()).hexdigest()
    made: list[Tensor] = []

    def compute() -> Tensor:
        made.append(embed_table(encoder, table))
        return made[0]

    folder = workspace / EMBEDDINGS_FOLDER
    try:
        return cached_embeddings(folder, key, final_hash({"table": table}), compute)
    except StorageError:
        return made[0] if made else embed_table(encoder, table)


def _of_stage(
    callbacks: PreparationCallbacks, stage: str, total: int
) -> Callable[[int, Metrics], None]:
    return lambda done, metrics: callbacks.report(stage, done, total, metrics)
