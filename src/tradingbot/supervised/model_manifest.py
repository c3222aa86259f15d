"""What a stored model says of itself, as JSON beside its weights; read without any of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.errors import DataError, StorageError, UserError
from tradingbot.supervised.model_names import model_names, models_folder, require_model

_REMEDY = "Delete that folder and train the model again: tradingbot supervised train"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StageRecord(_Model):
    """One stage of a stored model."""

    from_bar: int
    seen_until: int
    calibration: dict[str, float]
    file: str
    file_sha256: str


class DataRecord(_Model):
    """What a model was fitted on."""

    label: str
    """Data, period and seed in words."""
    synthetic: bool
    data_sha256: str
    """Of every number in the table it was fitted on."""
    dataset_sha256: str | None = None
    symbols: tuple[str, ...]
    n_bars: int
    train_start: int
    train_stop: int
    """Bars train_start … train_stop − 1 are the training part."""
    first_day: str
    last_day: str
    """Of the training part."""


class ProofRecord(_Model):
    """What the causality prover found."""

    comparisons: int
    recomputations: int
    seed: int


class ModelManifest(SealedRecord):
    """Everything about a stored model but its weights."""

    version: Literal[1] = 1
    name: str
    model: str
    """Of `catalogue.CLASSIFIERS`."""
    settings: dict[str, Any]
    labels: dict[str, Any]
    folds: dict[str, Any]
    seed: int
    features: tuple[str, ...]
    data: DataRecord
    config: dict[str, Any]
    """Configuration that names data and splits, as the model was trained with."""
    base_rates: tuple[float, float, float]
    """Of down, flat, up among the training part's labels."""
    scores: dict[str, dict[str, float]]
    """Part → figures of `scores.Scores`; `…_raw` are before calibration."""
    proof: ProofRecord
    versions: dict[str, str]
    stages: tuple[StageRecord, ...] = ()
    """With the hash of each file: the seal is one of the weights as well."""


def read_manifest(folder: Path, name: str) -> ModelManifest:
    """Read what a stored model says of itself.

    Raises:
        ConfigError: If there is no model of that name; names the closest.
        StorageError: If the manifest is damaged or not one.
    """
    path = require_model(folder, name)
    try:
        manifest = ModelManifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        refuse_model("model must have a readable manifest", type(e).__name__, path, e)
    if not manifest.is_sealed() or manifest.name != name:
        refuse_model("manifest must be as it was written", "edited", path)
    return manifest


def refuse_model(rule: str, was: object, path: Path, cause: Exception | None = None) -> NoReturn:
    """Raise the error of a model that is not as it was stored."""
    raise StorageError(rule, was=was, where=str(path), remedy=_REMEDY) from cause


def require_later_bars(manifest: ModelManifest, first_day: date, where: str) -> None:
    """Refuse bars of other data than a model's own that begin before its training part ended.

    Whether they are the same bars under another name cannot be told.

    Raises:
        DataError: Naming the days, and the first that may be traded.
    """
    fitted = manifest.data
    if first_day <= date.fromisoformat(fitted.last_day):
        raise DataError(
            "bars must lie after those that the model was fitted on",
            was=f"from {first_day}, fitted on {fitted.first_day} … {fitted.last_day}",
            where=f"model {manifest.name}, {where}",
            remedy=f"Give --from a day after {fitted.last_day}, or leave --dataset and --market "
            "out to trade its own test part",
        )


def require_features(manifest: ModelManifest, names: tuple[str, ...], where: str) -> None:
    """Refuse data whose features are not those that a model was fitted on, in order.

    Raises:
        DataError: Naming those in which they differ.
    """
    if names != manifest.features:
        other = sorted(set(names) ^ set(manifest.features)) or ["another order"]
        raise DataError(
            "data must have the features that the model was fitted on, in order",
            was=", ".join(other[:5]),
            where=f"model {manifest.name}, {where}",
            remedy="Train a model on this data: tradingbot supervised train",
        )


@dataclass(frozen=True)
class ModelLine:
    """A model in a list; `problem` says why it cannot be read."""

    name: str
    manifest: ModelManifest | None
    problem: str = ""


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
