"""The models of a workspace, and their probabilities joined to the world they belong to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.splits import Split
from tradingbot.domain.errors import DataError, UserError
from tradingbot.envs.world import World, with_probabilities
from tradingbot.supervised.model_files import ModelManifest, model_names, open_model, read_manifest
from tradingbot.supervised.table import ModelTable

NO_MODEL = "none"
"""Instead of a model's name: observations show thirds."""


@dataclass(frozen=True)
class ModelLine:
    """A model in a list; `problem` says why it cannot be read."""

    name: str
    manifest: ModelManifest | None
    problem: str = ""


@dataclass(frozen=True, eq=False)
class JoinedWorld:
    """A world that shows a model's probabilities."""

    world: World
    model_sha256: str

    def data_sha256(self, data_sha256: str) -> str:
        """Hash of the data and of the model they are seen through."""
        return hashlib.sha256(f"{data_sha256} {self.model_sha256}".encode()).hexdigest()


def models_folder(workspace: Path) -> Path:
    """Where a workspace keeps its models."""
    return workspace / "models"


def list_models(workspace: Path) -> list[ModelLine]:
    """Read the manifests of all models; damaged ones are named as such."""
    folder = models_folder(workspace)
    lines = []
    for name in model_names(folder):
        try:
            lines.append(ModelLine(name, read_manifest(folder, name)))
        except UserError as e:
            lines.append(ModelLine(name, None, str(e)))
    return lines


def join_model(
    world: World, table: ModelTable, split: Split, *, name: str, workspace: Path
) -> JoinedWorld:
    """Let a world show the probabilities of a stored model.

    Args:
        world: All symbols and bars of the data.
        table: The same data as classifiers see it.
        split: Of the agents that will learn or trade there.
        name: Of a model of the workspace.
        workspace: Where models are stored.

    Raises:
        ConfigError: If there is no such model.
        DataError: If it was fitted on other data, or on bars that are now validated or tested on.
        StorageError: If it is damaged.
    """
    model, manifest = open_model(models_folder(workspace), name)
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
    joined = with_probabilities(world, model.probabilities(table), f"probabilities of {name}")
    return JoinedWorld(joined, manifest.sha256)
