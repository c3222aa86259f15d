"""What a process keeps is published as it is kept, where its workspace is a mirror."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

from tradingbot.data.mirror import Mirror
from tradingbot.domain.errors import StorageError

_IN_USE: ContextVar[Mirror | None] = ContextVar("mirror", default=None)


def use_mirror(mirror: Mirror) -> None:
    """Let what this process keeps from now on be published as it is kept."""
    _IN_USE.set(mirror)


def publish_folder(folder: Path) -> None:
    """Publish the unit that a folder is, where the workspace is a mirror.

    A store that does not answer now is asked again at the end of the command.
    """
    mirror = _IN_USE.get()
    if mirror is None or mirror.workspace not in folder.absolute().parents:
        return
    with suppress(StorageError):
        mirror.publish("/".join(folder.absolute().relative_to(mirror.workspace).parts[:2]))
