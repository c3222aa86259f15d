"""The encoder of another run or of a supervised model, to begin with: found, checked, copied.

A result that began so carries the warning of it.
"""

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
from tradingbot.plugins.reference import MODEL_PREFIX
from tradingbot.runs import find_run
from tradingbot.runs.acting import FROZEN_ENCODER, LEARNING_ENCODER
from tradingbot.runs.compatibility import first_difference
from tradingbot.runs.loading import require_checkpoint
from tradingbot.runs.manifest import Label
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_names import models_folder
from tradingbot.supervised.network_classifier import FittedNetwork
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping

_FIRST_LAYERS = {"cells.0.enter.weight", "flatten.weight"}
"""Weights of an LSTM and of a window network that have a column for every feature."""
_SOURCES: tuple[Label, ...] = ("selected", "best", "final")
"""Checkpoints that an encoder is taken of, the first that there is."""


@dataclass(frozen=True, eq=False)
class Transfer:
    """An encoder of another run, or of a supervised model."""

    source: str
    """Run and checkpoint, or `model:` and the model's name."""
    weights: dict[str, Tensor]


def transfer_words(source: str) -> str:
    """Say where an encoder comes from and what to mind; to be shown wherever a result is."""
    return f"The encoder is that of {source}: {TRANSFER_WARNING}."


def open_transfer(
    config: TrainConfig, feature_ids: Sequence[str], runs_folder: Path
) -> Transfer | None:
    """Return the encoder that a configuration takes from elsewhere; None where it takes none.

    Args:
        config: Of the new run.
        feature_ids: Name and version of every column that the new run sees, in order.
        runs_folder: Where runs are.

    Raises:
        ConfigError: If there is no such run or model, or its encoder reads other columns or is of
            another kind.
        StorageError: If no checkpoint of it is whole, or the model is damaged.
    """
    reference = config.encoder.transfer_from
    if reference is None:
        return None
    if reference.startswith(MODEL_PREFIX):
        return _of_model(config, feature_ids, models_folder(runs_folder.parent))
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


def _of_model(config: TrainConfig, feature_ids: Sequence[str], folder: Path) -> Transfer:
    """Take the encoder of a supervised network: of its last stage, which saw the training part.

    Columns are found by name. What the model did not read (its own probabilities, for one) begins
    without weight.
    """
    reference = str(config.encoder.transfer_from)
    name = reference.removeprefix(MODEL_PREFIX)
    model, manifest = open_model(folder, name)
    fitted = model.stages[-1].model
    if not isinstance(fitted, FittedNetwork) or fitted.config.kind == "gru":
        rule = "a model that an encoder is taken of must be a network of the kind mlp or lstm"
        remedy = f"Train one: tradingbot supervised train --name {name} --model lstm"
        raise ConfigError(rule, was=manifest.model, where=reference, remedy=remedy)
    theirs, ours = fitted.config, encoder_preset(config.encoder.preset)
    sizes = [(each.kind, each.n_layers, each.width) for each in (theirs, ours)]
    if sizes[0] != sizes[1] or ours.skip or ours.lookback_bars != theirs.lookback_bars:
        was, wanted = (
            f"{each.kind}, {each.n_layers} layers, width {each.width}, {each.lookback_bars} bars"
            for each in (theirs, ours)
        )
        rule = "a transferred encoder must be of the same kind and size"
        remedy = f"Train the model with the sizes of encoder.preset={config.encoder.preset}"
        raise ConfigError(rule, was=f"{was} → {wanted}", where=reference, remedy=remedy)
    columns = [each.rpartition("-v")[0] for each in feature_ids]
    state = fitted.network.encoder.state_dict()
    weights = {key: tensor.detach().cpu().clone() for key, tensor in state.items()}
    for key in _FIRST_LAYERS & set(weights):
        weights[key] = _with_columns(weights[key], manifest.features, columns)
    return Transfer(reference, weights)


def _with_columns(weight: Tensor, known: Sequence[str], columns: Sequence[str]) -> Tensor:
    """Lay a first layer (D, F), or (D, W · (F + 1)) with a flag per bar, out for other columns."""
    flags = weight.shape[1] % len(known) != 0 or weight.shape[1] > len(known)
    bars = weight.view(len(weight), -1, len(known) + flags)
    made = bars.new_zeros(len(weight), bars.shape[1], len(columns) + flags)
    for place, column in enumerate(columns):
        if column in known:
            made[..., place] = bars[..., list(known).index(column)]
    if flags:
        made[..., -1] = bars[..., -1]
    return made.flatten(1)


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
