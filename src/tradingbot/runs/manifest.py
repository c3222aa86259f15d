"""The manifest of a checkpoint: what it holds, of which run, and the hash of every byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tradingbot.domain.errors import StorageError
from tradingbot.features.tensor_files import read_header
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.journal import JournalMark
from tradingbot.runs.record import StoredModel, content_sha256

MANIFEST_FILE = "manifest.json"
AGENT_FILE = "agent.safetensors"
TRAINING_FILE = "training.safetensors"
NORMALISER_FILE = "normaliser.safetensors"
TENSOR_FILES = frozenset({AGENT_FILE, TRAINING_FILE, NORMALISER_FILE})
SCHEMA_VERSION = 2
CheckpointKind = Literal["start", "last", "best", "final", "selected", "judged"]
"""`selected`: can only act; what `result.json` is about. Older runs call it `judged`."""
Label = Literal["start", "last", "best", "final", "selected", "healthy", "judged"]
"""What a checkpoint is besides its kind; `healthy`: training may return to it."""
_OLD_LABELS = {"judged": "selected"}

_MAX_BYTES = 64_000_000
"""No manifest of ours is as long; a longer one is not read."""


class StoredTensors(StoredModel):
    """One tensor file."""

    sha256: str
    n_bytes: int
    shapes: dict[str, tuple[str, tuple[int, ...]]]
    """Name → format as the file calls it, and shape."""


class CheckpointManifest(StoredModel):
    """`manifest.json`. No time of day: the same learning gives the same bytes."""

    version: Literal[1, 2] = 2
    """Version 1 does not say how to act; `runs.acting_reader` reads that from the run."""
    run_id: str
    kind: CheckpointKind
    labels: tuple[Label, ...]
    """Everything it is, its kind included, sorted."""
    update: int
    """Updates made in the run, those that were taken back included."""
    steps: int
    """Environment steps per agent."""
    learner: str
    config_sha256: str
    data_sha256: str
    code_version: str
    code_sha256: str
    feature_ids: tuple[str, ...]
    """Name and version of every input column, in order."""
    agents: tuple[str, ...]
    normaliser_sha256: str | None
    """Hash of the statistics in `normaliser.safetensors`."""
    weights_sha256: str
    """`final_hash` of the weights."""
    files: dict[str, StoredTensors]
    metrics: dict[str, float | None]
    journals: dict[str, JournalMark]
    parent: str | None
    """Weights hash of the checkpoint the run continued from, or was saved before this one."""
    acting: ActingRecord | None = None
    """All that acting needs besides the tensors; None in version 1, and where nothing acts."""
    sha256: str = ""
    """Of all the above."""

    @property
    def name(self) -> str:
        """Name of the folder."""
        return checkpoint_name(self.update, self.kind)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Everything it is, in the words of this version."""
        return tuple(label_name(label) for label in self.labels)

    @property
    def can_resume(self) -> bool:
        """Whether it holds what training needs, not only what acting needs."""
        return TRAINING_FILE in self.files

    def sealed(self) -> CheckpointManifest:
        """Return it with its own hash."""
        return self.model_copy(update={"sha256": self._content_sha256()})

    def is_sealed(self) -> bool:
        """Tell whether it is what was sealed."""
        return self.sha256 == self._content_sha256()

    def _content_sha256(self) -> str:
        later = {"acting"} if self.version == 1 else set()
        return content_sha256(self.model_dump(mode="json", exclude={"sha256", *later}))


def checkpoint_name(update: int, kind: CheckpointKind) -> str:
    """Return the name of a checkpoint's folder."""
    return f"{update:08d}-{kind}"


def label_name(label: str) -> str:
    """Return what this version calls a label or kind; older runs have other words for some."""
    return _OLD_LABELS.get(label, label)


def read_manifest(folder: Path) -> CheckpointManifest:
    """Read and check a checkpoint's manifest.

    Raises:
        StorageError: If it is absent, damaged, or of a newer schema.
    """
    path = folder / MANIFEST_FILE
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_BYTES:
            raise damage_error(folder, "manifest is a link or too long")
        text = path.read_text(encoding="utf-8")
        _refuse_newer(json.loads(text), folder)
        manifest = CheckpointManifest.model_validate_json(text)
    except (OSError, ValueError, RecursionError, ValidationError) as e:
        reason = "no manifest" if isinstance(e, FileNotFoundError) else "manifest is unreadable"
        raise damage_error(folder, reason) from e
    if not manifest.is_sealed() or (manifest.version == 1 and manifest.acting is not None):
        raise damage_error(folder, "manifest was changed")
    if folder.name != manifest.name:
        raise damage_error(folder, f"manifest is of {manifest.name}")
    return manifest


def stored_shapes(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Read name, format and shape of every tensor in a file.

    Raises:
        StorageError: If it is no well-formed tensor file.
    """
    header, _ = read_header(path)
    return {
        name: (entry["dtype"], tuple(entry["shape"]))
        for name, entry in sorted(header.items())
        if name != "__metadata__"
    }


def damage_error(folder: Path, was: str) -> StorageError:
    """Say that a checkpoint is not what was stored."""
    return StorageError(
        "checkpoint must be as it was stored",
        was=was,
        where=str(folder),
        remedy="Resume from an older one, or train again",
    )


def _refuse_newer(content: Any, folder: Path) -> None:
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is int and version > SCHEMA_VERSION:
        raise StorageError(
            f"checkpoint must be of schema {SCHEMA_VERSION} or older",
            was=f"schema {version}, of a newer tradingbot",
            where=str(folder),
            remedy="Update tradingbot, or resume from an older checkpoint",
        )
