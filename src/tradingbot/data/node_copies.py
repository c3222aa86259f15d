"""Copies of files on a machine's own disk, by their hash: data travel to a node once.

Where nodes of a cluster see a workspace through a network, all workers of a node map one copy on
its own disk instead. Without the variable files are read where they are.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from tradingbot.data.atomic import atomic_file, open_to_write, storage_errors
from tradingbot.domain.errors import StorageError

COPIES_VARIABLE = "TRADINGBOT_NODE_COPIES"
"""Names the folder of copies; unset or empty: there are none."""
KEPT_COPIES = 16
_BLOCK = 1 << 20


def local_copy(path: Path, sha256: str) -> Path:
    """Return a file of this content on this machine's own disk, or the file itself.

    The first worker that asks copies it while others wait; what was not used for longest gives way.

    Args:
        path: Where the file is for all machines.
        sha256: Of its content.

    Raises:
        StorageError: If the file has other content, or the disk refuses.
    """
    folder = os.environ.get(COPIES_VARIABLE, "")
    if not folder:
        return path
    copy = Path(folder) / sha256
    with storage_errors(copy):
        copy.parent.mkdir(parents=True, exist_ok=True)
        lock = open_to_write(copy.parent / "lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if copy.exists():
                os.utime(copy)
            else:
                _copy(path, copy, sha256)
                _give_way(copy.parent)
        finally:
            os.close(lock)
    return copy


def _copy(path: Path, copy: Path, sha256: str) -> None:
    digest = hashlib.sha256()
    with atomic_file(copy) as temporary, path.open("rb") as source, temporary.open("wb") as target:
        while block := source.read(_BLOCK):
            digest.update(block)
            target.write(block)
        if digest.hexdigest() != sha256:
            raise StorageError(
                "a file must have the content that its record says",
                was=digest.hexdigest()[:12],
                where=f"{path}, recorded {sha256[:12]}",
                remedy="Bring the file back as it was, or build it again",
            )


def _give_way(folder: Path) -> None:
    """Remove copies beyond those kept; what is mapped stays until it is let go."""
    copies = [
        path for path in folder.iterdir() if len(path.name) == hashlib.sha256().digest_size * 2
    ]
    for path in sorted(copies, key=lambda each: each.stat().st_mtime)[:-KEPT_COPIES]:
        with suppress(OSError):
            path.unlink()
