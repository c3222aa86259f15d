"""The venue's memory on disk: a log of what changed, one JSON line each; the last word counts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from fakes.alpaca.records import VenueOrder, read_time

_DECIMALS = frozenset(
    {"qty", "notional", "limit_price", "stop_price", "trail_percent", "trail_price", "hwm"}
    | {"filled_qty", "filled_value", "reserved_ccy"}
)


class VenueLog:
    """An append-only file; without a path nothing is kept.

    A line is handed to the operating system before the venue answers: what it said is never
    forgotten when its process is killed.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._lines = path, []  # type: tuple[Path | None, list[str]]
        self._file = -1
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> Iterator[tuple[str, Any]]:
        """Yield what was kept; a line that was cut off is no line."""
        if self._path is None or not self._path.exists():
            return
        for line in self._path.read_bytes().split(b"\n"):
            try:
                kind, value = json.loads(line)
            except ValueError:
                continue
            yield kind, value

    def note(self, kind: str, value: Any) -> None:
        if self._path is not None:
            self._lines.append(json.dumps([kind, value]))

    def note_order(self, order: VenueOrder) -> None:
        if self._path is not None:
            self.note("order", {each.name: _plain(getattr(order, each.name)) for each in _FIELDS})

    def flush(self) -> None:
        """Write what was noted since the last time."""
        if not self._lines or self._path is None:
            return
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(self._file, b"\n")  # ends a line that a kill had cut
        os.write(self._file, ("\n".join(self._lines) + "\n").encode())
        self._lines.clear()

    def close(self) -> None:
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


_FIELDS = fields(VenueOrder)


def read_order(value: dict[str, Any]) -> VenueOrder:
    def revive(name: str, kept: Any) -> Any:
        if kept is None:
            return None
        if name in _DECIMALS:
            return Decimal(kept)
        return read_time(kept) if name.endswith("_at") else kept

    return VenueOrder(**{name: revive(name, kept) for name, kept in value.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
