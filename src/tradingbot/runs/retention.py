"""Which checkpoints stay: best, last three, final, selected, newest healthy; always a whole one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.data.atomic import discard_directory
from tradingbot.domain.errors import StorageError
from tradingbot.runs.loading import (
    hold_checkpoint,
    labels_of,
    list_checkpoints,
    update_of,
    verify_checkpoint,
)

if TYPE_CHECKING:
    from tradingbot.runs.directory import RunDirectory

KEPT_COUNTS = {"start": 1, "best": 1, "last": 3, "final": 1, "selected": 1, "healthy": 1}
"""Label → how many of the newest stay."""


def thin_out(run: RunDirectory) -> list[str]:
    """Remove checkpoints beyond `KEPT_COUNTS`; return the names of those removed.

    One that is being read stays until the next time. Where everything that would stay is damaged,
    the newest good one of the others stays too.
    """
    folders = list_checkpoints(run)
    labels = {folder: labels_of(folder) for folder in folders}
    staying = {
        folder
        for label, count in KEPT_COUNTS.items()
        for folder in [folder for folder in folders if label in labels[folder]][-count:]
    }
    leaving = [folder for folder in folders if folder not in staying]
    if leaving and not any(_is_good(folder) for folder in sorted(staying, key=update_of)[::-1]):
        rescued = next((folder for folder in reversed(leaving) if _is_good(folder)), None)
        leaving = [folder for folder in leaving if folder != rescued]
    return [folder.name for folder in leaving if _discard(folder)]


def rewind(run: RunDirectory, update: int) -> list[str]:
    """Remove checkpoints after an update: what is learned from there on takes their place.

    Call it when a run continues from an older checkpoint, under the run's lock.

    Returns:
        Names of those removed.

    Raises:
        StorageError: If the disk refuses.
    """
    later = [folder for folder in list_checkpoints(run) if update_of(folder) > update]
    return [folder.name for folder in later if discard_directory(folder, wait=True)]


def _is_good(folder: Path) -> bool:
    try:
        with hold_checkpoint(folder):
            return verify_checkpoint(folder).can_resume
    except StorageError:
        return False


def _discard(folder: Path) -> bool:
    with suppress(StorageError):  # a disk that refuses to delete is no reason to stop learning
        return discard_directory(folder)
    return False
