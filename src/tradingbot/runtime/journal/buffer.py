"""Batches that the database did not confirm, kept on disk in their order until it does.

One line of JSON per batch, written and synced before it counts as kept. A line that a kill tore in
two was never kept and is dropped. The buffer is bounded: when it is full, nothing more is accepted.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import open_to_write, storage_errors, write_text
from tradingbot.domain.errors import StorageError
from tradingbot.runtime.journal.entry import read_content
from tradingbot.runtime.journal.failures import JournalDamagedError
from tradingbot.runtime.journal.writing import Batch


class BatchBuffer:
    """A file of batches, oldest first.

    Args:
        path: The file; it need not be there.
        max_events: Events that it may hold.

    Raises:
        JournalDamagedError: If a line other than the last is not what was written.
    """

    def __init__(self, path: Path, *, max_events: int) -> None:
        self._path, self._max_events = path, max_events
        self._lock = threading.Lock()
        self._batches = _read(path)

    @property
    def batches(self) -> tuple[Batch, ...]:
        """What is kept, oldest first."""
        with self._lock:
            return tuple(self._batches)

    def append(self, batch: Batch) -> None:
        """Keep a batch; it is on disk when this returns.

        Raises:
            StorageError: If the buffer is full, or the disk refuses.
        """
        with self._lock:
            held = sum(len(each.events) for each in self._batches)
            if held + len(batch.events) > self._max_events:
                raise StorageError(
                    f"events that wait for the journal must be at most {self._max_events}",
                    was=held + len(batch.events),
                    where=str(self._path),
                    remedy="Make the journal's database reachable",
                )
            self._write_line(_line(batch))
            self._batches.append(batch)

    def drop(self, count: int) -> None:
        """Forget the oldest batches, which the database has now.

        Raises:
            StorageError: If the disk refuses; they are then tried again, and written once.
        """
        with self._lock:
            left = self._batches[count:]
            write_text(self._path, "".join(map(_line, left)))
            self._batches = left

    def _write_line(self, line: str) -> None:
        content = line.encode()
        with storage_errors(self._path):
            descriptor = open_to_write(self._path)
            try:
                end = sum(len(_line(each).encode()) for each in self._batches)
                os.ftruncate(descriptor, end)  # what a refused write left behind
                if os.pwrite(descriptor, content, end) != len(content):
                    raise OSError(28, "No space left on device")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _line(batch: Batch) -> str:
    values = {"batch": batch.name, "session": batch.session, "events": [*batch.contents]}
    return f"{json.dumps({**values, 'sha256': _sha256(values)})}\n"


def _sha256(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> list[Batch]:
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")
    found: list[Batch] = []
    for number, line in enumerate(lines, 1):
        batch = _batch(line)
        if batch is not None:
            found.append(batch)
        elif any(lines[number:]):
            raise JournalDamagedError(
                "every line of the buffer must be as it was written",
                was=f"another in line {number}",
                where=str(path),
                remedy="Keep the file, compare it with the venue's orders, then move it away",
            )
    return found


def _batch(line: bytes) -> Batch | None:
    """Return the batch of a line; None for a torn one and for the empty one at the end."""
    try:
        values = json.loads(line)
        is_whole = values.pop("sha256") == _sha256(values)
    except (ValueError, AttributeError, KeyError):
        return None
    if not is_whole:
        return None
    events: Sequence[str] = values["events"]
    return Batch(values["batch"], values["session"], tuple(map(read_content, events)))
