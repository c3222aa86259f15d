"""Models on disk: a file of weights per stage (safetensors, or LightGBM's text), the rest as JSON.

    <folder>/<name>/
        manifest.json  stage_00.safetensors  stage_01.safetensors …

Nothing in a file is executed when it is read; every file must have the hash the manifest names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import atomic_directory, file_sha256, sweep_temporaries
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.supervised.calibration import Calibration
from tradingbot.supervised.catalogue import build_classifier
from tradingbot.supervised.model_manifest import (
    ModelManifest,
    StageRecord,
    read_manifest,
    refuse_model,
)
from tradingbot.supervised.model_names import MANIFEST_FILE, require_free_name
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel


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
                refuse_model("model must have every file its manifest names", "missing", path)
            if file_sha256(path) != record.file_sha256:
                refuse_model("file of a model must be as it was written", "other content", path)
            figures: dict[str, Any] = {**record.calibration, "n": int(record.calibration["n"])}
            fitted = classifier.read(path, manifest.features)
            calibration = Calibration(**figures)
            stages.append(ModelStage(record.from_bar, record.seen_until, fitted, calibration))
        return ProbabilityModel(tuple(stages), manifest.features), manifest
    except (KeyError, TypeError, ConfigError) as e:
        was = e.rule if isinstance(e, UserError) else type(e).__name__
        refuse_model("model must be of a kind this version knows", was, place, e)
