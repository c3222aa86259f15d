"""Rows that a run appends while it learns, each of them exactly once whatever happens.

One JSON object per line. A checkpoint remembers how far the file went (`mark`, on disk before the
checkpoint is); resuming cuts the file back to that mark, so that updates that are learned again are
also written again, to the same bytes. Hence rows hold nothing that depends on the time of day or on
speed. A line that a kill tore in two is never read.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from tradingbot.data.atomic import open_to_write, storage_errors
from tradingbot.domain.errors import StorageError
from tradingbot.runs.record import StoredModel

_CHUNK_BYTES = 1 << 20


class JournalMark(StoredModel):
    """How far a journal went."""

    rows: int = Field(default=0, ge=0)
    n_bytes: int = Field(default=0, ge=0)
    sha256: str = hashlib.sha256().hexdigest()
    """Of those bytes."""


class Journal:
    """Appends rows to a file; open one per file and process, under the run's lock."""

    def __init__(self, path: Path, *, mark: JournalMark | None = None) -> None:
        """Continue at a mark; without one, from the beginning. Whatever follows is cut off.

        Raises:
            StorageError: If the file is shorter than the mark, differs before it or is a link, or
                the disk refuses.
        """
        self.path, self._mark = path, mark or JournalMark()
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._digest = verify_mark(path, self._mark)
            self._file = open_to_write(path)
            os.ftruncate(self._file, self._mark.n_bytes)
            os.fsync(self._file)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row, whole or not at all; NaN and infinity become null.

        Raises:
            StorageError: If the disk refuses; the file is as it was.
        """
        line = json.dumps(_plain(row), separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with storage_errors(self.path):
            write_at_end(self._file, self._mark.n_bytes, line)
        self._digest.update(line)
        self._mark = JournalMark(
            rows=self._mark.rows + 1,
            n_bytes=self._mark.n_bytes + len(line),
            sha256=self._digest.hexdigest(),
        )

    def mark(self) -> JournalMark:
        """Bring every row to the disk and say how far the file goes; checkpoints keep this."""
        with storage_errors(self.path):
            os.fsync(self._file)
        return self._mark

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)

    def __enter__(self) -> Journal:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a journal that may still be growing; a torn last line is left out.

    Raises:
        StorageError: If a line in the middle is damaged, naming it.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise _damaged(path, f"line {number} is no JSON") from e
            if not isinstance(row, dict):
                raise _damaged(path, f"line {number} is no object")
            yield row


def write_at_end(descriptor: int, end: int, line: bytes, *, to_disk: bool = False) -> None:
    """Write a line where a file's whole lines end; a disk that refuses leaves nothing of it."""
    try:
        written = 0
        while written < len(line):
            written += os.pwrite(descriptor, line[written:], end + written)
        if to_disk:
            os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def verify_mark(path: Path, mark: JournalMark) -> Any:
    """Return the running digest of a journal up to a mark.

    Raises:
        StorageError: If the file is shorter than the mark or differs before it.
    """
    digest, left = hashlib.sha256(), mark.n_bytes
    if left:
        if not path.is_file():
            raise _damaged(path, "absent")
        with path.open("rb") as file:
            while left and (part := file.read(min(left, _CHUNK_BYTES))):
                digest.update(part)
                left -= len(part)
    if left or digest.hexdigest() != mark.sha256:
        raise _damaged(path, f"{left} bytes short" if left else "other content")
    return digest


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "journal must hold the rows its checkpoint counted",
        was=was,
        where=str(path),
        remedy="Resume from an older checkpoint, or train again",
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value
