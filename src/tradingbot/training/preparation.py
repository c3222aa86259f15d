"""What takes long before the first update: pre-training, embedding, cloning.

All of it is a function of configuration, data and seed: a run that is interrupted here begins here
again, and ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.networks.view import TableView
from tradingbot.runs.embeddings import kept_embeddings
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.setup import TrainingSetup, build_training_setup

PRETRAINING, CLONING = "pre-train", "clone"
"""Stages."""
Report = Callable[[str, int, int, Metrics], None]
"""Told (stage, updates so far, of how many, metrics) of pre-training and cloning."""


def prepare(
    setup: TrainingSetup,
    workspace: Path | None = None,
    report: Report | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> bool:
    """Make a learner ready for its first update; return whether it is: else someone interrupted.

    Args:
        setup: Pre-trained and cloned in place, where it has what does so.
        workspace: Embeddings are kept there; nowhere by default.
        report: Told of the progress.
        interrupted: Asked before every update.
    """
    pretrainer, cloner = setup.pretrainer, setup.cloner
    if pretrainer is not None:
        told = _of_stage(report, PRETRAINING, pretrainer.config.updates)
        if pretrainer.complete(told, interrupted) is None:
            return False
    show_embeddings(setup, workspace)
    if cloner is None:
        return True
    return cloner.complete(_of_stage(report, CLONING, cloner.config.updates), interrupted)


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
    report: Report | None, stage: str, total: int
) -> Callable[[int, Metrics], None] | None:
    return report and (lambda done, metrics: report(stage, done, total, metrics))


def prepare_training_setup(
    config: TrainConfig,
    data: TrainingData,
    *,
    seed: int,
    encoder_weights: Mapping[str, Tensor] | None = None,
    report: Report | None = None,
) -> TrainingSetup:
    """Build everything and prepare it: pre-train, embed, clone, as the configuration says.

    An encoder of another run (`encoder.transfer_from`) is no matter of this function: sessions
    open it and give it to `build_training_setup`.

    Args:
        config: Of the run.
        data: What it learns from.
        seed: Root of every random stream.
        encoder_weights: Of a frozen encoder that was pre-trained before, or nothing where there is
            none; then nothing is pre-trained or cloned.
        report: Told of the progress.

    Raises:
        ConfigError: If the device is absent, or a name is unknown.
        DataError: If no episode fits into the training part, or a part has too few bars.
    """
    setup = build_training_setup(config, data, seed=seed, begins=encoder_weights is None)
    if encoder_weights is None:
        prepare(setup, report=report)
    else:
        restore(setup, encoder_weights)
    return setup
