"""What was read from a file stays until the file is another: pages ask several times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

_Content = TypeVar("_Content")
_MOST = 256


def stamp_of(*paths: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Return what tells whether files are still the ones that were read."""
    stamps: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            told = path.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((told.st_ino, told.st_mtime_ns, told.st_size))
    return tuple(stamps)


class Remembered(Generic[_Content]):
    """Contents by key, each with the stamp of the files that it came from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[object, _Content]] = {}

    def get(self, key: str, paths: Sequence[Path], read: Callable[[], _Content]) -> _Content:
        """Return what was read under a key, read again where a file changed since."""
        stamp = stamp_of(*paths)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        content = read()
        with self._lock:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            self._kept[key] = (stamp, content)
        return content
