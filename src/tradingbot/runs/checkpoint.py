"""Checkpoints: folders of safetensors and a manifest, written whole or not at all.

    checkpoints/<update, 8 digits>-<kind>/
        agent.safetensors        weights, all that acting needs
        normaliser.safetensors   statistics that inputs are scaled by, where there are any
        training.safetensors     optimiser, replay, generators, task, schedules, recorder
        manifest.json

Nothing here can run code: pickles, archives and anything else that is not in this list are refused
without being opened as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot import __version__
from tradingbot.data.atomic import atomic_directory, discard_directory, sweep_temporaries
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.features.tensor_files import write_tensors
from tradingbot.runs import manifest as manifests
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.journal import JournalMark
from tradingbot.runs.loading import verify_checkpoint
from tradingbot.runs.manifest import CheckpointKind, CheckpointManifest, Label, StoredTensors
from tradingbot.runs.retention import thin_out
from tradingbot.runs.tensors import arrays_sha256, to_arrays, weakness

if TYPE_CHECKING:
    from torch import Tensor

    from tradingbot.runs.directory import RunDirectory


@dataclass(frozen=True)
class CheckpointContent:
    """What is to be kept."""

    agent: Mapping[str, Tensor]
    """Weights, `<network>.<parameter>`."""
    training: Mapping[str, Tensor] | None = None
    """All that resuming needs; None for a checkpoint that can only act."""
    normaliser: Mapping[str, Tensor] = field(default_factory=dict)
    """Statistics that inputs are scaled by."""
    steps: int = 0
    """Environment steps per agent."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    journals: Mapping[str, JournalMark] = field(default_factory=dict)
    """File name below the run → how far it goes (`Journal.mark`)."""
    labels: tuple[Label, ...] = ()
    """What it is besides its kind: `healthy` where training may return to it, `last` …"""
    parent: str | None = None
    """Weights hash of the checkpoint before this one."""
    acting: ActingRecord | None = None
    """How the weights act; None where nothing does."""


def save_checkpoint(
    run: RunDirectory, kind: CheckpointKind, update: int, content: CheckpointContent
) -> CheckpointManifest:
    """Keep a checkpoint of a run whose lock this process holds; thin out old ones afterwards.

    Args:
        run: The run.
        kind: What it is above all: the name of its folder; more in `content.labels`.
        update: Updates made in the run; it only ever rises.
        content: What is to be kept.

    Raises:
        DataError: If the weights are not fit to be kept, or the normaliser is not the run's.
        StorageError: If the disk refuses; what was kept before still is.
    """
    reason = weakness(content.agent)
    if reason is not None:
        raise DataError(
            "weights must be finite and alive to be kept",
            was=reason,
            where=f"{run.id}, update {update}",
            remedy="Roll back to the last checkpoint and lower the learning rate",
        )
    target = run.checkpoints / manifests.checkpoint_name(update, kind)
    with atomic_directory(target) as temporary:
        sweep_temporaries(run.checkpoints)
        manifest = _write(run, kind, update, content, temporary)
        if target.exists() and not _holds(target, manifest):  # learned again after a resume
            discard_directory(target, wait=True)
    thin_out(run)
    return manifest


def _holds(folder: Path, manifest: CheckpointManifest) -> bool:
    """Tell whether a whole checkpoint is what is to be kept: then no kill can lose it."""
    try:
        return verify_checkpoint(folder).sha256 == manifest.sha256
    except StorageError:
        return False


def _write(
    run: RunDirectory, kind: CheckpointKind, update: int, content: CheckpointContent, folder: Path
) -> CheckpointManifest:
    parts: dict[str, Mapping[str, Tensor] | None] = {
        manifests.AGENT_FILE: content.agent,
        manifests.NORMALISER_FILE: content.normaliser or None,
        manifests.TRAINING_FILE: content.training,
    }
    arrays = {file: to_arrays(part) for file, part in parts.items() if part is not None}
    data = run.record.data
    normaliser = arrays_sha256(arrays[manifests.NORMALISER_FILE]) if content.normaliser else None
    if normaliser != data.normaliser_sha256:
        raise DataError(
            "normaliser must be the run's own",
            was=_short(normaliser),
            where=f"{run.id}: {_short(data.normaliser_sha256)}",
        )
    manifest = CheckpointManifest(
        run_id=run.id,
        kind=kind,
        labels=tuple(sorted({kind, *content.labels})),
        update=update,
        steps=content.steps,
        learner=run.record.learner,
        config_sha256=run.record.config_sha256,
        data_sha256=data.data_sha256,
        code_version=__version__,
        code_sha256=run.record.code_sha256,
        feature_ids=data.feature_ids,
        agents=data.agents,
        normaliser_sha256=normaliser,
        weights_sha256=arrays_sha256(arrays[manifests.AGENT_FILE]),
        files={file: _write_file(folder / file, tensors) for file, tensors in arrays.items()},
        metrics={name: _finite(value) for name, value in content.metrics.items()},
        journals=dict(content.journals),
        parent=content.parent,
        acting=_with_hash(content.acting, arrays[manifests.AGENT_FILE]),
    ).sealed()
    text = manifest.model_dump_json(indent=1) + "\n"
    (folder / manifests.MANIFEST_FILE).write_text(text, encoding="utf-8")
    return manifest


def _with_hash(acting: ActingRecord | None, agent: Mapping[str, Any]) -> ActingRecord | None:
    """Name the encoder by the hash of its tensors."""
    if acting is None or acting.encoder is None:
        return acting
    prefix = acting.encoder.prefix
    own = {
        name.removeprefix(prefix): array for name, array in agent.items() if name.startswith(prefix)
    }
    encoder = acting.encoder.model_copy(update={"sha256": arrays_sha256(own)})
    return acting.model_copy(update={"encoder": encoder})


def _write_file(path: Path, arrays: Mapping[str, Any]) -> StoredTensors:
    digest = write_tensors(path, arrays)
    return StoredTensors(
        sha256=digest, n_bytes=path.stat().st_size, shapes=manifests.stored_shapes(path)
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:16]
