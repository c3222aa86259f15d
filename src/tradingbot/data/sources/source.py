"""The protocol every source of bars fulfils."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from tradingbot.data.manifest import Provenance

Progress = Callable[[int, int, str], None]
"""Called as (finished, total, label); total is 0 while unknown."""


def ignore_progress(finished: int, total: int, label: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class RawBars:
    """What a source delivers: rows in the bar schema's columns, not yet judged.

    `bars` has every column of `schema.BAR_COLUMNS` with its type, in the order the source gave
    them; values, order and uniqueness are checked afterwards by `tradingbot.data.ingest`.
    """

    bars: pl.DataFrame
    provenance: Provenance
    covariates: pl.DataFrame | None = None


class BarSource(Protocol):
    """Anything that can deliver bars.

    Raises `SchemaError`, `DataError` or `SourceError` for what it cannot read; it never fills,
    repairs or drops a row silently.
    """

    @property
    def id(self) -> str:
        """Short name: `parquet`, `csv`, `synthetic`, `yfinance`, `alpaca`."""

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Deliver all bars this source was configured for."""
