"""Alerts on the console and in a file."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

from tradingbot.data.atomic import open_to_write, storage_errors
from tradingbot.domain.errors import ChannelError, StorageError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.monitoring.alerts.notice import AlertNotice


class ConsoleChannel:
    """Writes a line.

    Args:
        write: Takes it, e.g. to stderr.
    """

    label = "console"

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def send(self, notice: AlertNotice) -> None:
        """Write title and text."""
        try:
            self._write(f"{notice.at.isoformat(timespec='seconds')} {notice.title}. {notice.text}")
        except (OSError, ValueError) as e:  # closed, or its reader is gone
            raise ChannelError("the console must be open", was=e) from e


class FileChannel:
    """Appends one JSON object per line, on disk when `send` returns."""

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, f"file {path.name}"
        self._lock = threading.Lock()

    def send(self, notice: AlertNotice) -> None:
        """Append the notice."""
        line = json.dumps(as_plain_values(notice), ensure_ascii=False).encode() + b"\n"
        try:
            with self._lock, storage_errors(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._append(line)
        except StorageError as e:
            raise ChannelError(e.rule, was=e.was, where=e.where, remedy=e.remedy) from e

    def _append(self, line: bytes) -> None:
        descriptor = open_to_write(self.path)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            if os.pwrite(descriptor, line, end) != len(line):
                os.ftruncate(descriptor, end)
                raise OSError(28, "No space left on device")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
