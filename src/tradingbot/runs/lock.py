"""Locks that die with their process, so that a kill never leaves one behind."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradingbot.data.atomic import open_to_write, storage_errors
from tradingbot.domain.errors import ConfigError

_ATTEMPTS, _PAUSE_S = 20, 0.02


@contextmanager
def hold_lock(path: Path, subject: str) -> Iterator[None]:
    """Hold the lock of a file, made where it is absent; it then holds our process number.

    Raises:
        ConfigError: If another process holds it, naming `subject` and the process.
        StorageError: If the file is a link, or the disk refuses.
    """
    descriptor = open_to_write(path)
    try:
        _acquire(descriptor, path, subject)
        with storage_errors(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, subject: str) -> None:
    # A process that only asks whether it is free holds it for an instant.
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        else:
            return
    holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    raise ConfigError(
        f"{subject} must not be in use",
        was=f"in use by process {holder}" if holder else "in use",
        where=str(path.parent),
        remedy="Wait for that process or stop it; its lock dies with it",
    )
