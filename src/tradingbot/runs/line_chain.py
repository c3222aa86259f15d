"""Append-only files of JSON lines, each of which holds the hash of the one before it.

A line begins with its number and ends with that hash, so that none can be changed or taken out of
the middle: 100,000 of them are compared in a tenth of a second, and only those that are asked for
are parsed. What a kill left of a last line is not read, and cut off by the next writer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from pydantic import ValidationError

from tradingbot.data.atomic import open_to_write, storage_errors
from tradingbot.domain.errors import StorageError
from tradingbot.runs.journal import write_at_end
from tradingbot.runs.record import StoredModel

_FIRST = "0" * 64


class ChainedLine(StoredModel):
    """One line; a subclass ends with `previous: str`, the hash of the line before."""

    LATER: ClassVar[tuple[str, ...]] = ()
    """Fields that lines of before do not have; they are not written where they are None."""

    sequence: int
    at: str
    """ISO, UTC; for people, nothing depends on it."""

    @property
    def sha256(self) -> str:
        """Hash of this line, the one before it included."""
        return hashlib.sha256(self.as_bytes()).hexdigest()

    def as_bytes(self) -> bytes:
        """Return the line as the file holds it."""
        absent = {name for name in self.LATER if getattr(self, name) is None}
        held = self.model_dump(exclude=absent)
        return json.dumps(held, separators=(",", ":")).encode() + b"\n"


L = TypeVar("L", bound=ChainedLine)


class LineChain(Generic[L]):
    """The whole lines of a file, each found to follow from the one before by its bytes alone."""

    def __init__(
        self, path: Path, kind: type[L], damaged: Callable[[Path, str], StorageError]
    ) -> None:
        """Read a file; one that is absent has no lines.

        Args:
            path: Of the file.
            kind: What a line is.
            damaged: Makes the error of a path and of what is wrong with it.

        Raises:
            StorageError: By `damaged`, or if the disk refuses.
        """
        with storage_errors(path):
            content = path.read_bytes() if path.exists() else b""
        self.path, self._kind, self._damaged = path, kind, damaged
        self.hashes: list[str] = []
        self._read(content)

    @classmethod
    @contextmanager
    def alone(
        cls, path: Path, kind: type[L], damaged: Callable[[Path, str], StorageError]
    ) -> Iterator[tuple[LineChain[L], int]]:
        """Let one process at a time in, with the file open; the lock dies with its process."""
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_to_write(path)
        try:
            with storage_errors(path):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield cls(path, kind, damaged), descriptor
        finally:
            os.close(descriptor)

    def entries(self, *, last: int = 0, **named: str | None) -> tuple[L, ...]:
        """Parse all lines or the last ones, of these those that have certain texts by name.

        Raises:
            StorageError: If one was changed.
        """
        wanted = [f'"{key}":{json.dumps(text)},'.encode() for key, text in named.items() if text]
        return tuple(
            self._parse(number)
            for number in range(len(self._lines))[-last:]
            if all(each in self._lines[number] for each in wanted)
        )

    def append(self, descriptor: int, at: datetime, **fields: Any) -> L:
        """Add a line to the file that `alone` opened; on disk when this returns.

        Raises:
            StorageError: If the last line was changed, or the disk refuses.
        """
        self.entries(last=1)  # the one that no other follows from is read whole
        place = {"sequence": len(self.hashes), "at": at.isoformat(timespec="seconds")}
        previous = self.hashes[-1] if self.hashes else _FIRST
        entry = self._kind.model_validate({**place, **fields, "previous": previous})
        end, line = sum(map(len, self._lines)), entry.as_bytes()
        with storage_errors(self.path):
            os.ftruncate(descriptor, end)  # what a kill left of a line there goes
            write_at_end(descriptor, end, line, to_disk=True)
        self._lines.append(line)
        self.hashes.append(entry.sha256)
        return entry

    def _read(self, content: bytes) -> None:
        lines = content.splitlines(keepends=True)
        self._lines = lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines
        previous = _FIRST
        for number, line in enumerate(self._lines):
            if not (
                line.startswith(b'{"sequence":%d,' % number)
                and line.endswith(b'"previous":"%b"}\n' % previous.encode())
            ):
                self._refuse(number)
            previous = hashlib.sha256(line).hexdigest()
            self.hashes.append(previous)

    def _parse(self, number: int) -> L:
        line = self._lines[number]
        try:
            entry = self._kind.model_validate_json(line)
        except ValidationError as e:
            raise self._damaged(self.path, f"line {number + 1} is no entry") from e
        if entry.as_bytes() != line:
            self._refuse(number)
        return entry

    def _refuse(self, number: int) -> NoReturn:
        was = f"line {number + 1} does not follow from the one before"
        raise self._damaged(self.path, was)
