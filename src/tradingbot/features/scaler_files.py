"""Scalers on disk: statistics as safetensors, everything else as JSON; or all of it as JSON.

    <panel>/scalers/<kind>-<hash, 16 digits>/
        scaler.safetensors   centre, scale, rows
        scaler.json          what was fitted on which rows, hashes

Version 1 did not name the panel and the code that fitted: such a file is still read by
`load_scaler`, and `find_scaler` passes it over.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot import __version__
from tradingbot.data.atomic import (
    atomic_directory,
    discard_directory,
    file_sha256,
    sweep_temporaries,
)
from tradingbot.domain.errors import StorageError
from tradingbot.features.scaling import Scaler, ScalerKind, scaler_code_sha256
from tradingbot.features.tensor_files import map_tensors, write_tensors

SCALERS_FOLDER = "scalers"
_DESCRIBED = ("kind", "feature_names", "symbols", "train_first", "train_last", "clip")
_STATISTICS = ("centre", "scale", "rows")


class _ScalerModel(BaseModel):
    """Everything but the statistics."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ScalerKind
    feature_names: tuple[str, ...]
    symbols: tuple[str, ...] | None
    train_first: int
    """First and last row of the time axis that it was fitted on."""
    train_last: int
    clip: float | None
    sha256: str


class ScalerRecord(_ScalerModel):
    """A scaler as plain values, statistics included: part of a checkpoint's manifest."""

    centre: list[float] | list[list[float]]
    """(F,), or (N, F) where per symbol."""
    scale: list[float] | list[list[float]]
    rows: list[float] | list[list[float]]

    @classmethod
    def of(cls, scaler: Scaler) -> ScalerRecord:
        """Write a scaler down."""
        statistics = {name: getattr(scaler, name).tolist() for name in _STATISTICS}
        return cls(**_described(scaler), **statistics)

    def scaler(self) -> Scaler:
        """Return the scaler.

        Raises:
            StorageError: If it is not the one that was written down.
        """
        statistics = {name: np.array(getattr(self, name)) for name in _STATISTICS}
        return _checked(self, statistics, "manifest")


class ScalerManifest(_ScalerModel):
    """`scaler.json`."""

    version: Literal[1, 2] = 2
    file_sha256: str
    code_version: str
    panel_sha256: str | None = None
    """Of the manifest of the panel that it was fitted on; None in version 1."""
    code_sha256: str | None = None
    """`scaling.scaler_code_sha256` of the code that fitted it; None in version 1."""
    record_sha256: str | None = None
    """Of all the above; None in version 1."""

    def sealed(self) -> ScalerManifest:
        """Return it with its own hash."""
        return self.model_copy(update={"record_sha256": self._content_sha256()})

    def is_sealed(self) -> bool:
        """Tell whether it is what was sealed; version 1 had no seal."""
        return self.version == 1 or self.record_sha256 == self._content_sha256()

    def _content_sha256(self) -> str:
        text = self.model_dump_json(exclude={"record_sha256"})
        return hashlib.sha256(text.encode()).hexdigest()


def save_scaler(scaler: Scaler, folder: Path, *, panel_sha256: str | None = None) -> Path:
    """Store a scaler as `<folder>/<kind>-<hash>/` (statistics and JSON), whole or not at all.

    Args:
        scaler: Fitted.
        folder: Where scalers of a panel are.
        panel_sha256: Hash of the manifest of the panel that it was fitted on.

    Raises:
        StorageError: If the disk refuses.
    """
    target = folder / f"{scaler.kind}-{scaler.sha256[:16]}"
    sweep_temporaries(folder)
    if target.exists():
        if _is_current(target, panel_sha256):
            return target
        discard_directory(target, wait=True)  # of another version of the code, or damaged
    with atomic_directory(target) as temporary:
        statistics = {name: getattr(scaler, name) for name in _STATISTICS}
        record = ScalerManifest(
            **_described(scaler),
            file_sha256=write_tensors(temporary / "scaler.safetensors", statistics),
            code_version=__version__,
            panel_sha256=panel_sha256,
            code_sha256=scaler_code_sha256(),
        ).sealed()
        text = record.model_dump_json(indent=2) + "\n"
        (temporary / "scaler.json").write_text(text, encoding="utf-8")
    return target


def load_scaler(folder: Path) -> Scaler:
    """Load a stored scaler.

    Raises:
        StorageError: If a file is missing, damaged or not what was stored.
    """
    record = _read_record(folder)
    try:
        is_whole = file_sha256(folder / "scaler.safetensors") == record.file_sha256
    except OSError as e:
        raise _damage_error(folder, type(e).__name__) from e
    tensors = map_tensors(folder / "scaler.safetensors") if is_whole else {}
    if set(tensors) != set(_STATISTICS):
        raise _damage_error(folder, "other statistics")
    return _checked(record, {name: np.array(tensors[name]) for name in _STATISTICS}, folder)


def find_scaler(folder: Path, fitted_on: str, *, panel_sha256: str) -> Scaler | None:
    """Load the scaler of a panel that was asked the same (`Scaler.fitted_on`).

    Args:
        folder: Where scalers of a panel are.
        fitted_on: What is to be fitted on which rows.
        panel_sha256: Hash of the panel's manifest.

    Returns:
        The scaler; None where this version of the code stored no such one, or it is damaged.
    """
    for entry in sorted(folder.glob("*-*")):
        if not _is_current(entry, panel_sha256):
            continue
        try:
            scaler = load_scaler(entry)
        except StorageError:
            continue
        if scaler.fitted_on == fitted_on:
            return scaler
    return None


def _described(scaler: Scaler) -> dict[str, Any]:
    return {name: getattr(scaler, name) for name in (*_DESCRIBED, "sha256")}


def _is_current(folder: Path, panel_sha256: str | None) -> bool:
    try:
        record = _read_record(folder)
    except StorageError:
        return False
    return (record.code_sha256, record.panel_sha256) == (scaler_code_sha256(), panel_sha256)


def _read_record(folder: Path) -> ScalerManifest:
    try:
        text = (folder / "scaler.json").read_text(encoding="utf-8")
        record = ScalerManifest.model_validate_json(text)
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise _damage_error(folder, type(e).__name__) from e
    if not record.is_sealed():
        raise _damage_error(folder, "other content")
    return record


def _checked(record: _ScalerModel, statistics: dict[str, Any], where: object) -> Scaler:
    """Return the scaler of a record, or refuse it."""
    for values in statistics.values():
        values.flags.writeable = False
    scaler = Scaler(**{name: getattr(record, name) for name in _DESCRIBED}, **statistics)
    if scaler.sha256 != record.sha256:
        raise _damage_error(where, "other content")
    return scaler


def _damage_error(where: object, was: str) -> StorageError:
    return StorageError(
        "scaler must be as it was stored",
        was=was,
        where=str(where),
        remedy="Delete that folder and fit the scaler again",
    )
