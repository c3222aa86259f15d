"""Models on disk: a file of weights per stage (safetensors, or LightGBM's text), the rest as JSON.

    <folder>/<name>/
        manifest.json  stage_00.safetensors  stage_01.safetensors …

Nothing in a file is executed when it is read; every file must have the hash the manifest names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot.data.atomic import atomic_directory, file_sha256, sweep_temporaries
from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.errors import ConfigError, StorageError, UserError
from tradingbot.supervised.calibration import Calibration
from tradingbot.supervised.catalogue import build_classifier
from tradingbot.supervised.model_names import (
    MANIFEST_FILE,
    model_names,
    models_folder,
    require_free_name,
    require_model,
)
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel

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


def save_model(
    folder: Path,
    model: ProbabilityModel,
    manifest: ModelManifest,
    *,
    beside: Mapping[str, str] | None = None,
) -> ModelManifest:
    """Store a model as `<folder>/<manifest.name>/`, whole or not at all.

    Args:
        folder: Of all models.
        model: To be stored.
        manifest: Without stages and hash.
        beside: File name → text of what lies beside the model from its first moment.

    Returns:
        The manifest with stages and hash filled in.

    Raises:
        ConfigError: If the name is taken or no name.
        StorageError: If the disk refuses.
    """
    require_free_name(folder, manifest.name)
    sweep_temporaries(folder)
    suffix = build_classifier(manifest.model, manifest.settings).suffix
    with atomic_directory(folder / manifest.name) as temporary:
        records = []
        for number, stage in enumerate(model.stages):
            path = temporary / f"stage_{number:02d}{suffix}"
            stage.model.write(path)
            records.append(
                StageRecord(
                    from_bar=stage.from_bar,
                    seen_until=stage.seen_until,
                    calibration=asdict(stage.calibration),
                    file=path.name,
                    file_sha256=file_sha256(path),
                )
            )
        whole = manifest.model_copy(update={"stages": tuple(records)}).sealed()
        text = whole.model_dump_json(indent=2) + "\n"
        for name, content in {**(beside or {}), MANIFEST_FILE: text}.items():
            (temporary / name).write_text(content, encoding="utf-8")
    return whole


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
        _refuse("model must have a readable manifest", type(e).__name__, path, e)
    if not manifest.is_sealed() or manifest.name != name:
        _refuse("manifest must be as it was written", "edited", path)
    return manifest


def open_model(folder: Path, name: str) -> tuple[ProbabilityModel, ModelManifest]:
    """Read a stored model; every file is hashed before it is used.

    Raises:
        ConfigError: If there is no model of that name.
        StorageError: If a file is missing, damaged or foreign.
    """
    manifest = read_manifest(folder, name)
    place = folder / name
    try:
        classifier = build_classifier(manifest.model, manifest.settings)
        stages = []
        for record in manifest.stages:
            path = place / record.file
            if Path(record.file).name != record.file or not path.is_file():
                _refuse("model must have every file its manifest names", "missing", path)
            if file_sha256(path) != record.file_sha256:
                _refuse("file of a model must be as it was written", "other content", path)
            figures: dict[str, Any] = {**record.calibration, "n": int(record.calibration["n"])}
            fitted = classifier.read(path, manifest.features)
            calibration = Calibration(**figures)
            stages.append(ModelStage(record.from_bar, record.seen_until, fitted, calibration))
        return ProbabilityModel(tuple(stages), manifest.features), manifest
    except (KeyError, TypeError, ConfigError) as e:
        was = e.rule if isinstance(e, UserError) else type(e).__name__
        _refuse("model must be of a kind this version knows", was, place, e)


def _refuse(rule: str, was: object, path: Path, cause: Exception | None = None) -> NoReturn:
    raise StorageError(rule, was=was, where=str(path), remedy=_REMEDY) from cause


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
