"""Worlds that show what stored models say: of down, flat and up, or three of them of a rise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tradingbot.data.splits import Split
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World, with_probabilities
from tradingbot.supervised.classifier import ProbabilityArray
from tradingbot.supervised.labels import CLASSES
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_manifest import ModelManifest
from tradingbot.supervised.model_names import models_folder, split_models
from tradingbot.supervised.probability_model import ProbabilityModel
from tradingbot.supervised.table import ModelTable


@dataclass(frozen=True, eq=False)
class JoinedWorld:
    """A world that shows a model's probabilities."""

    world: World
    model_sha256: str

    def data_sha256(self, data_sha256: str) -> str:
        """Hash of the data and of the model they are seen through."""
        return hashlib.sha256(f"{data_sha256} {self.model_sha256}".encode()).hexdigest()


def show_probabilities(
    world: World, models: Sequence[ProbabilityModel], table: ModelTable, source: str
) -> World:
    """Let a world show what one model says of down, flat and up, or what three say of a rise.

    Args:
        world: What will be traded and seen.
        models: One or three.
        table: The same bars as classifiers see them.
        source: Where the probabilities are from, in words.
    """
    return show_chances(world, [model.probabilities(table) for model in models], source)


def show_chances(world: World, chances: Sequence[ProbabilityArray], source: str) -> World:
    """Let a world show probabilities (N, T, 3) of one model or of three; see above."""
    if len(chances) == 1:
        return with_probabilities(world, chances[0], source)
    rises = np.stack([each[..., CLASSES.index("up")] for each in chances], axis=-1)
    return with_probabilities(world, rises, source, of_one_model=False)


def join_models(
    world: World, table: ModelTable, split: Split, *, names: str, workspace: Path
) -> JoinedWorld:
    """Let a world show the probabilities of stored models.

    Args:
        world: All symbols and bars of the data.
        table: The same data as classifiers see it.
        split: Of the agents that will learn or trade there.
        names: Of a model of the workspace, or of three as `mlp+lstm+gru`.
        workspace: Where models are stored.

    Raises:
        ConfigError: If there is no such model.
        DataError: If one was fitted on other data, or on bars that are now validated or tested on.
        StorageError: If one is damaged.
    """
    models, digests = [], []
    for name in split_models(names):
        model, manifest = open_model(models_folder(workspace), name)
        _require_fit(manifest, name, world, table, split)
        models.append(model)
        digests.append(manifest.sha256)
    joined = show_probabilities(world, models, table, f"probabilities of {names}")
    return JoinedWorld(joined, " ".join(digests))


def _require_fit(
    manifest: ModelManifest, name: str, world: World, table: ModelTable, split: Split
) -> None:
    """Refuse a model of other data, or of bars that are now validated or tested on."""
    fitted = manifest.data
    if fitted.data_sha256 != table.sha256:
        raise DataError(
            "model must have been fitted on this data",
            was=f"fitted on {fitted.label}",
            where=f"model {name}, data {world.label}",
            remedy="Train one with the same preset and options: tradingbot supervised train",
        )
    if fitted.train_stop > split.train.stop:
        raise DataError(
            "model must not have been fitted on bars that are validated or tested on",
            was=f"fitted on bars up to {fitted.train_stop - 1}",
            where=f"model {name}, training ends before bar {split.train.stop}",
            remedy="Train one with the same splits: tradingbot supervised train",
        )
