"""Bars that a session saw live, kept as it saw them: a restart and a proof stream the same ones.

One file for each close, `bars/NNNNNN.json` of the session's folder, written before the bar is
traded on. A symbol that was late is not in it, also when its bar came afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import atomic_file, storage_errors
from tradingbot.domain.errors import StorageError
from tradingbot.features.inputs import BAR_FIELDS

Row = Mapping[str, float]
"""Field → number; see `features.inputs.BAR_FIELDS`."""


@dataclass(frozen=True)
class SeenBars:
    """What was there of one close."""

    closed_at: datetime
    """UTC."""
    rows: Mapping[str, Row]
    """By symbol; those that were late or missing are not there."""


@dataclass(frozen=True)
class BarRecord:
    """The folder of them."""

    folder: Path

    def read(self) -> Iterator[SeenBars]:
        """Yield all, in the order in which they closed.

        Raises:
            StorageError: If a file is damaged or missing.
        """
        for number, path in enumerate(sorted(self.folder.glob("*.json"))):
            try:
                if int(path.stem) != number:
                    raise ValueError("one before it is missing")
                yield _decode(json.loads(path.read_text("utf-8")))
            except (OSError, ValueError, KeyError, TypeError) as e:
                rule = "a recorded bar must be whole"
                remedy = "Restore the folder from a copy: decisions were made on it"
                raise StorageError(rule, was=e, where=str(path), remedy=remedy) from e

    def write(self, number: int, seen: SeenBars) -> None:
        """Keep bars, durably, as the `number`-th, from 0.

        Raises:
            StorageError: If the disk refuses.
        """
        with storage_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
        rows = {symbol: [row[name] for name in BAR_FIELDS] for symbol, row in seen.rows.items()}
        text = json.dumps({"closed_at": seen.closed_at.isoformat(), "bars": rows})
        with atomic_file(self.folder / f"{number:06d}.json") as temporary:
            temporary.write_text(text, encoding="utf-8")


def _decode(plain: dict[str, Any]) -> SeenBars:
    rows = {
        symbol: dict(zip(BAR_FIELDS, map(float, row), strict=True))
        for symbol, row in plain["bars"].items()
    }
    return SeenBars(datetime.fromisoformat(plain["closed_at"]), rows)
