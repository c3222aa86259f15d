"""Reading checkpoints: every byte is checked before it is used, and damage is passed over."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.data.atomic import file_sha256
from tradingbot.domain.errors import StorageError
from tradingbot.features.tensor_files import map_tensors
from tradingbot.runs import manifest as manifests
from tradingbot.runs.foreign import refuse_foreign
from tradingbot.runs.manifest import CheckpointManifest, Label, StoredTensors
from tradingbot.runs.tensors import final_hash, to_tensors, weakness

if TYPE_CHECKING:
    from torch import Tensor

    from tradingbot.runs.directory import RunDirectory

_KIND_ORDER = {"start": 0, "best": 1, "last": 2, "final": 3, "judged": 4, "selected": 5}


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint, in memory."""

    folder: Path
    manifest: CheckpointManifest
    agent: dict[str, Tensor] = field(repr=False)
    normaliser: dict[str, Tensor] = field(repr=False)
    training: dict[str, Tensor] = field(repr=False)
    """Empty where it can only act."""


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint, whatever its origin, and check every byte of it.

    Raises:
        StorageError: If anything is missing, superfluous, damaged, foreign or of a newer schema.
    """
    with hold_checkpoint(folder):
        manifest = verify_checkpoint(folder)
        loaded = {file: to_tensors(map_tensors(folder / file)) for file in manifest.files}
    checkpoint = Checkpoint(
        folder=folder,
        manifest=manifest,
        agent=loaded[manifests.AGENT_FILE],
        normaliser=loaded.get(manifests.NORMALISER_FILE, {}),
        training=loaded.get(manifests.TRAINING_FILE, {}),
    )
    _require_unit(checkpoint)
    return checkpoint


def verify_checkpoint(folder: Path) -> CheckpointManifest:
    """Check every byte of a checkpoint without keeping it in memory.

    Raises:
        StorageError: As `load_checkpoint`.
    """
    refuse_foreign(folder)
    manifest = manifests.read_manifest(folder)
    _require_files(folder, manifest)
    for file, stored in manifest.files.items():
        _verify_file(folder / file, stored)
    return manifest


@contextmanager
def hold_checkpoint(folder: Path) -> Iterator[None]:
    """Hold a shared lock on a checkpoint, so that it is not removed meanwhile."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as e:
        raise manifests.damage_error(folder, e.strerror or "unreadable") from e
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def list_checkpoints(run: RunDirectory) -> list[Path]:
    """Folders of a run's checkpoints, the oldest first; not verified."""
    return checkpoint_folders(run.path)


def checkpoint_folders(run_folder: Path) -> list[Path]:
    """Folders of the checkpoints below a run's folder, whether or not its record is readable."""
    folder = run_folder / "checkpoints"
    if not folder.is_dir():
        return []
    found = [entry for entry in folder.iterdir() if _is_checkpoint(entry)]
    return sorted(found, key=lambda folder: (update_of(folder), _KIND_ORDER[kind_of(folder)]))


def latest_good(
    run: RunDirectory,
    *,
    to_resume: bool = True,
    before: int | None = None,
    label: Label | None = None,
) -> tuple[Checkpoint | None, tuple[str, ...]]:
    """Load the newest checkpoint that is whole.

    Args:
        run: The run.
        to_resume: Only one that training can continue from.
        before: Only one of an earlier update.
        label: Only one that is this: `healthy` to roll back, `best` to act.

    Returns:
        The checkpoint, or None where there is none, and why newer ones were passed over.
    """
    skipped: list[str] = []
    for folder in reversed(list_checkpoints(run)):
        if before is not None and update_of(folder) >= before:
            continue
        if label is not None and label not in labels_of(folder):
            continue
        try:
            checkpoint = load_checkpoint(folder)
            _require_run(run, checkpoint.manifest, folder)
        except StorageError as e:
            skipped.append(f"{folder.name}: {_reason(e)}")
            continue
        if checkpoint.manifest.can_resume or not to_resume:
            return checkpoint, tuple(skipped)
    return None, tuple(skipped)


def require_checkpoint(
    run: RunDirectory, *labels: Label | None, rule: str, remedy: str, to_resume: bool = False
) -> Checkpoint:
    """Load the newest whole checkpoint of the first label that has one; None: of any.

    Raises:
        StorageError: By that rule and remedy, if there is none.
    """
    problems: tuple[str, ...] = ()
    for label in labels:
        checkpoint, skipped = latest_good(run, to_resume=to_resume, label=label)
        if checkpoint is not None:
            return checkpoint
        problems += skipped
    was = "; ".join(problems) or "none"
    raise StorageError(rule, was=was, where=str(run.path), remedy=remedy)


def update_of(folder: Path) -> int:
    """Return the update a checkpoint's folder is named after."""
    return int(folder.name.partition("-")[0])


def kind_of(folder: Path) -> str:
    """Return the kind a checkpoint's folder is named after."""
    return folder.name.partition("-")[2]


def labels_of(folder: Path) -> tuple[str, ...]:
    """Return what a checkpoint is; where its manifest is damaged, what its name says."""
    try:
        return manifests.read_manifest(folder).label_names
    except StorageError:
        return (manifests.label_name(kind_of(folder)),)


def _is_checkpoint(entry: Path) -> bool:
    update, _, kind = entry.name.partition("-")
    return update.isascii() and update.isdecimal() and kind in _KIND_ORDER


def _reason(error: StorageError) -> str:
    is_ours = error.rule.startswith("checkpoint must")
    return str(error.was) if is_ours else f"{error.rule}, was {error.was}"


def _require_files(folder: Path, manifest: CheckpointManifest) -> None:
    present = {entry.name for entry in folder.iterdir()}
    wanted = {manifests.MANIFEST_FILE, *manifest.files}
    if present != wanted:
        odd = sorted(present ^ wanted)[0]
        reason = "missing" if odd in wanted else "no part of it"
        raise manifests.damage_error(folder, f"{odd} is {reason}")
    if not {manifests.AGENT_FILE} <= set(manifest.files) <= manifests.TENSOR_FILES:
        raise manifests.damage_error(folder, "manifest names other files")


def _verify_file(path: Path, stored: StoredTensors) -> None:
    if path.is_symlink() or not path.is_file():
        raise manifests.damage_error(path.parent, f"{path.name} is no plain file")
    if path.stat().st_size != stored.n_bytes:
        raise manifests.damage_error(path.parent, f"{path.name} has {path.stat().st_size} bytes")
    if file_sha256(path) != stored.sha256:
        raise manifests.damage_error(path.parent, f"{path.name} has another hash")
    if manifests.stored_shapes(path) != stored.shapes:
        raise manifests.damage_error(path.parent, f"{path.name} holds other tensors")


def _require_run(run: RunDirectory, manifest: CheckpointManifest, folder: Path) -> None:
    if manifest.run_id != run.id:
        raise manifests.damage_error(folder, f"a checkpoint of run {manifest.run_id}")


def _require_unit(checkpoint: Checkpoint) -> None:
    """Refuse weights or statistics that are not those the manifest was written for."""
    manifest, folder = checkpoint.manifest, checkpoint.folder
    if final_hash(checkpoint.agent) != manifest.weights_sha256:
        raise manifests.damage_error(folder, "other weights")
    statistics = final_hash(checkpoint.normaliser) if checkpoint.normaliser else None
    if statistics != manifest.normaliser_sha256:
        raise manifests.damage_error(folder, "normaliser is missing or another")
    reason = weakness(checkpoint.agent)
    if reason is not None:
        raise manifests.damage_error(folder, reason)
