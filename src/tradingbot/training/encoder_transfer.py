"""The encoder of another run, to begin with: found, checked, copied, and told of in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.learner_state import tensors_below
from tradingbot.learning.pretraining.transfer import TRANSFER_WARNING, transfer_weights
from tradingbot.networks.encoders.catalogue import encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.runs import find_run
from tradingbot.runs.acting import FROZEN_ENCODER, LEARNING_ENCODER
from tradingbot.runs.compatibility import first_difference
from tradingbot.runs.loading import require_checkpoint
from tradingbot.runs.manifest import Label
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping

_SOURCES: tuple[Label, ...] = ("selected", "best", "final")
"""Checkpoints that an encoder is taken of, the first that there is."""


@dataclass(frozen=True, eq=False)
class Transfer:
    """An encoder of another run."""

    source: str
    """Run and checkpoint."""
    weights: dict[str, Tensor]


def transfer_words(source: str) -> str:
    """Say where an encoder comes from and what to mind; to be shown wherever a result is."""
    return f"The encoder is that of {source}: {TRANSFER_WARNING}."


def open_transfer(
    config: TrainConfig, feature_ids: Sequence[str], runs_folder: Path
) -> Transfer | None:
    """Return the encoder that a configuration takes from another run; None where it takes none.

    Args:
        config: Of the new run.
        feature_ids: Name and version of every column that the new run sees, in order.
        runs_folder: Where runs are.

    Raises:
        ConfigError: If there is no such run, or its encoder reads other columns or is of another
            kind.
        StorageError: If no checkpoint of it is whole.
    """
    reference = config.encoder.transfer_from
    if reference is None:
        return None
    source = find_run(runs_folder, reference)
    theirs = config_of_mapping(source.record.config)
    _require_kind(config, theirs, source.id)
    checkpoint = require_checkpoint(
        source,
        *_SOURCES,
        rule="run must have a whole checkpoint to take an encoder of",
        remedy=f"Train it to its end first: tradingbot train --resume {source.id}",
    )
    problem = first_difference("feature", checkpoint.manifest.feature_ids, feature_ids)
    if problem is not None:
        rule = "a transferred encoder must read the features it was trained on"
        remedy = "Build the panel with the same features, or leave encoder.transfer_from out"
        raise ConfigError(rule, was=problem, where=source.id, remedy=remedy)
    prefix = LEARNING_ENCODER if theirs.encoder.trainable else FROZEN_ENCODER
    name = f"{source.id}/{checkpoint.manifest.name}"
    return Transfer(name, tensors_below(checkpoint.agent, prefix))


def take_over(transfer: Transfer, encoder: Encoder) -> None:
    """Copy the weights of a transfer into an encoder, all of them.

    Raises:
        ConfigError: If a tensor is missing, superfluous or of another shape.
    """
    report = transfer_weights(transfer.weights, encoder)
    odd = (*report.other_shape, *report.missing, *report.unused)
    if odd:
        raise ConfigError(
            "a transferred encoder must fit whole",
            was=f"{odd[0]} and {len(odd) - 1} more tensors do not",
            where=transfer.source,
            remedy="Use the encoder preset and the features of that run",
        )


def _require_kind(ours: TrainConfig, theirs: TrainConfig, source: str) -> None:
    mine, other = ours.encoder.preset, theirs.encoder.preset
    if encoder_preset(mine) != encoder_preset(other):
        rule = "a transferred encoder must be of the same kind"
        remedy = f"Set encoder.preset={other}, or leave encoder.transfer_from out"
        raise ConfigError(rule, was=f"{other} → {mine}", where=source, remedy=remedy)
