"""Journals of runs as they grow: every look reads only what was appended since the one before."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import StorageError

_CHUNK_BYTES = 64 << 20
"""Longest stretch that one look reads."""


@dataclass
class JsonLinesTail:
    """The rows of one file; a file that was cut back, as resuming does, is read anew."""

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    _n_bytes: int = 0
    _inode: int = 0

    def read(self) -> list[dict[str, Any]]:
        """Return all rows so far; a last line without its end is left for the next look.

        Raises:
            StorageError: If a whole line is no JSON object, naming it.
        """
        try:
            told = self.path.stat()
        except OSError:
            self._begin(0)
            return self.rows
        if told.st_ino != self._inode or told.st_size < self._n_bytes:
            self._begin(told.st_ino)
        if told.st_size > self._n_bytes:
            with self.path.open("rb") as file:
                file.seek(self._n_bytes)
                self._take(file.read(_CHUNK_BYTES))
        return self.rows

    def _begin(self, inode: int) -> None:
        self.rows, self._n_bytes, self._inode = [], 0, inode

    def _take(self, content: bytes) -> None:
        whole = content[: content.rfind(b"\n") + 1]
        found: list[dict[str, Any]] = []
        for line in whole.splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise self._damaged(len(found)) from e
            if not isinstance(row, dict):
                raise self._damaged(len(found))
            found.append(row)
        # Another list, so that who holds the one before is not surprised.
        self.rows, self._n_bytes = [*self.rows, *found], self._n_bytes + len(whole)

    def _damaged(self, place: int) -> StorageError:
        was = f"line {len(self.rows) + place + 1} is no JSON object"
        return StorageError(
            "a journal must hold one JSON object a line", was=was, where=str(self.path)
        )
