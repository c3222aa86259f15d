"""Scalers on disk: statistics as safetensors, everything else as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot import __version__
from tradingbot.data.atomic import atomic_directory, sweep_temporaries
from tradingbot.domain.errors import StorageError
from tradingbot.features.scaling import Scaler, ScalerKind
from tradingbot.features.tensor_files import file_sha256, map_tensors, write_tensors


class ScalerManifest(BaseModel):
    """`scaler.json`: everything but the statistics."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    kind: ScalerKind
    feature_names: tuple[str, ...]
    symbols: tuple[str, ...] | None
    train_first: int
    train_last: int
    clip: float | None
    sha256: str
    file_sha256: str
    code_version: str


def save_scaler(scaler: Scaler, folder: Path) -> Path:
    """Store a scaler as `<folder>/<kind>-<hash>/` (statistics and JSON), whole or not at all."""
    target = folder / f"{scaler.kind}-{scaler.sha256[:16]}"
    sweep_temporaries(folder)
    if not target.exists():
        with atomic_directory(target) as temporary:
            statistics = {"centre": scaler.centre, "scale": scaler.scale, "rows": scaler.rows}
            record = ScalerManifest(
                kind=scaler.kind,
                feature_names=scaler.feature_names,
                symbols=scaler.symbols,
                train_first=scaler.train_first,
                train_last=scaler.train_last,
                clip=scaler.clip,
                sha256=scaler.sha256,
                file_sha256=write_tensors(temporary / "scaler.safetensors", statistics),
                code_version=__version__,
            )
            text = record.model_dump_json(indent=2) + "\n"
            (temporary / "scaler.json").write_text(text, encoding="utf-8")
    return target


def load_scaler(folder: Path) -> Scaler:
    """Load a stored scaler.

    Raises:
        StorageError: If a file is missing, damaged or not what was stored.
    """
    try:
        text = (folder / "scaler.json").read_text(encoding="utf-8")
        record = ScalerManifest.model_validate_json(text)
        is_whole = file_sha256(folder / "scaler.safetensors") == record.file_sha256
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise _damaged(folder, type(e).__name__) from e
    tensors = map_tensors(folder / "scaler.safetensors") if is_whole else {}
    if set(tensors) != {"centre", "scale", "rows"}:
        raise _damaged(folder, "other statistics")
    statistics = {name: np.array(values) for name, values in tensors.items()}
    for values in statistics.values():
        values.flags.writeable = False
    scaler = Scaler(
        kind=record.kind,
        feature_names=record.feature_names,
        symbols=record.symbols,
        centre=statistics["centre"],
        scale=statistics["scale"],
        rows=statistics["rows"],
        train_first=record.train_first,
        train_last=record.train_last,
        clip=record.clip,
    )
    if scaler.sha256 != record.sha256:
        raise _damaged(folder, "other content")
    return scaler


def _damaged(folder: Path, was: str) -> StorageError:
    return StorageError(
        "scaler must be as it was stored",
        was=was,
        where=str(folder),
        remedy="Delete that folder and fit the scaler again",
    )
