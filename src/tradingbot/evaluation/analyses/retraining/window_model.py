"""The run's supervised model for another period: the same kind, fitted anew on that training part.

A model that was fitted for the run has seen days that an earlier window validates or trades. Its
classifier, settings, labels, folds and seed are those of the run's model; only what it learned from
is another. It is not stored, and not proved causal once more: that is a matter of its kind, which
the run's own model has a proof of.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from tradingbot.envs.world import select_symbols, with_probabilities
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig, build_classifier, fit_model
from tradingbot.supervised.model_files import read_manifest
from tradingbot.supervised.model_store import NO_MODEL, models_folder
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.supervised.data import open_source


def open_with_own_model(config: TrainConfig, workspace: Path) -> TrainingData:
    """Open data whose probabilities are of a model that was fitted on their own training part.

    Args:
        config: Its `task.probabilities` names the model to fit again; its splits say on what.
        workspace: Where datasets and models are.

    Raises:
        ConfigError: If there is no such model.
        DataError: If the training part holds too little to fit it on.
        MissingExtraError: If the model's package is not installed.
    """
    name = config.task.probabilities
    manifest = read_manifest(models_folder(workspace), name)
    data = open_data(override_config(config, {"task.probabilities": NO_MODEL}), workspace)
    table, train = open_source(config, workspace).table, data.split.train
    fit = FitConfig(LabelConfig(**manifest.labels), FoldConfig(**manifest.folds), manifest.seed)
    classifier = build_classifier(manifest.model, manifest.settings)
    model = fit_model(classifier, table, train, fit).model
    words = f"probabilities of {name}, fitted anew"
    whole = with_probabilities(data.whole, model.probabilities(table), words)
    world = select_symbols(whole, data.world.symbols)
    seen = f"{data.identity.data_sha256} {manifest.sha256} {train.start} {train.stop}"
    identity = data.identity.model_copy(
        update={"label": world.label, "data_sha256": hashlib.sha256(seen.encode()).hexdigest()}
    )
    return replace(data, world=world, whole=whole, identity=identity)
