"""Journals of runs as they grow: every look reads only what was appended since the one before."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import StorageError

_CHUNK_BYTES = 64 << 20
"""Longest stretch that one look reads."""


def _as_it_is(row: dict[str, Any]) -> Any:
    return row


@dataclass
class JsonLinesTail:
    """The rows of one file; a file that was cut back, as resuming does, is read anew."""

    path: Path
    keep: Callable[[dict[str, Any]], Any] = _as_it_is
    """What is kept of a row: rows of 143 agents are long."""
    rows: list[Any] = field(default_factory=list)
    _n_bytes: int = 0
    _inode: int = 0

    def read(self) -> list[Any]:
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
        found: list[Any] = []
        for line in whole.splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise self._damaged(len(found)) from e
            if not isinstance(row, dict):
                raise self._damaged(len(found))
            found.append(self.keep(row))
        # Another list, so that who holds the one before is not surprised.
        self.rows, self._n_bytes = [*self.rows, *found], self._n_bytes + len(whole)

    def _damaged(self, place: int) -> StorageError:
        was = f"line {len(self.rows) + place + 1} is no JSON object"
        return StorageError(
            "a journal must hold one JSON object a line", was=was, where=str(self.path)
        )


def read_last_lines(path: Path, *, n_bytes: int = 4 << 20) -> list[dict[str, Any]]:
    """Return the rows at the end of a file, as many as lie whole in its last bytes."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        begin = max(0, path.stat().st_size - n_bytes)
        file.seek(begin)
        lines = file.read(n_bytes).split(b"\n")
    whole = lines[1 if begin else 0 : -1]
    try:
        rows = [json.loads(line) for line in whole]
    except (ValueError, RecursionError) as e:
        was = "a line that is no JSON"
        raise StorageError("a journal must hold JSON", was=was, where=str(path)) from e
    return [row for row in rows if isinstance(row, dict)]
