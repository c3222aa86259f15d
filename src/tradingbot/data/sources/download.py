"""Downloads in pieces: what to ask for, what is already on disk, in which order.

A piece is one symbol over some days. Pieces are stored as the vendor's rows, before any session
filter, so that a resumed download is judged exactly like an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Protocol

import polars as pl
from polars.exceptions import PanicException

from tradingbot.data.atomic import atomic_file, file_sha256, sweep_temporaries, write_text
from tradingbot.data.manifest import Adjustment
from tradingbot.data.schema import PRICE_COLUMNS, UTC_TIME
from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import ConfigError, SourceError
from tradingbot.domain.symbol import as_file_stem, require_symbol
from tradingbot.domain.timeframe import BarGrid, Timeframe

SETTLING = timedelta(minutes=16)
"""Vendors publish with up to 15 minutes' delay: nothing younger is taken as complete."""
FINAL_AFTER = timedelta(days=1)
"""Vendors correct a day's bars overnight: a piece is final this long after its last day."""
FRESH_FOR = timedelta(minutes=15)
"""A piece that is not final is used again for this long."""

VENDOR_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "started_at": UTC_TIME,  # both vendors stamp bars at their start
    **dict.fromkeys((*PRICE_COLUMNS, "volume"), pl.Float64),
    "vwap": pl.Float64,  # NaN where the vendor has none
}
_FETCHED_AT = "fetched_at"
_SEAL = ".sha256"


@dataclass(frozen=True)
class DownloadRequest:
    """Which bars to download: symbols, days (UTC, both included), bar length, adjustment.

    Example:
        >>> request = DownloadRequest(("AAPL", "SPY"), date(2024, 1, 2), date(2024, 1, 31))
        >>> str(request.timeframe), request.adjustment
        ('1h', 'split')
    """

    symbols: tuple[str, ...]
    start: date
    end: date
    """Last day, included."""
    timeframe: Timeframe = field(default_factory=lambda: Timeframe(1, "h"))
    adjustment: Adjustment = "split"
    calendar: str = "XNYS"
    """Only bars inside its sessions are kept."""
    grid: BarGrid = BarGrid.SESSION

    def __post_init__(self) -> None:
        """Refuse what no vendor could answer."""
        if not self.symbols:
            raise ConfigError("download must name a symbol", was="none", remedy="Use --universe")
        for symbol in self.symbols:
            require_symbol(symbol, where="download")
        repeated = sorted({s for s in self.symbols if self.symbols.count(s) > 1})
        if repeated:
            raise ConfigError("symbols must not repeat", was=", ".join(repeated))
        if self.end < self.start:
            rule = "end must not be before start"
            remedy = "Correct --start or --end"
            raise ConfigError(rule, was=f"{self.start} … {self.end}", remedy=remedy)


@dataclass(frozen=True)
class DownloadChunk:
    """One symbol over some days (UTC, both included)."""

    symbol: str
    first: date
    last: date

    @property
    def since(self) -> datetime:
        """First instant."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def until(self) -> datetime:
        """First instant after the piece."""
        return datetime.combine(self.last + timedelta(days=1), time(), UTC)

    def __str__(self) -> str:
        return f"{self.symbol} {self.first} … {self.last}"


class Wire(Protocol):
    """One vendor's client library, asked for one piece."""

    def fetch(self, chunk: DownloadChunk, until: datetime) -> pl.DataFrame:
        """Return the bars of `chunk` that started before `until`, as `VENDOR_COLUMNS`.

        Raises:
            SourceError: If the vendor refused, or failed more often than we are patient.
        """

    def close(self) -> None:
        """Close the connection."""


def to_number(value: Any) -> float:
    """Read a number of a vendor's JSON; NaN where it is null.

    Raises:
        TypeError: For anything else: text, true, a list.
    """
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)


def plan(request: DownloadRequest, *, days: int) -> list[DownloadChunk]:
    """Cut a request into pieces of at most `days` days, by symbol, then time.

    Cuts lie on fixed days of the calendar, so that a longer range uses the pieces of a shorter.
    """
    return [
        DownloadChunk(symbol, first, last)
        for symbol in sorted(request.symbols)
        for first, last in _spans(request.start, request.end, days)
    ]


def _spans(start: date, end: date, days: int) -> Iterator[tuple[date, date]]:
    first = start
    while first <= end:
        boundary = date.fromordinal((first.toordinal() // days + 1) * days)
        last = min(end, boundary - timedelta(days=1))
        yield first, last
        first = last + timedelta(days=1)


class ChunkCache:
    """Pieces on disk, one Parquet file each with its hash beside it, whole or absent.

    `identity` holds every setting that changes what a vendor answers; another setting is another
    folder.
    """

    def __init__(self, folder: Path, identity: dict[str, str], clock: Clock) -> None:
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        self.folder = folder / digest[:16]
        self._clock = clock

    def load(self, chunk: DownloadChunk) -> pl.DataFrame | None:
        """Return a stored piece with its `fetched_at`, or None if it must be fetched (again)."""
        path = self._path(chunk)
        if not path.is_file():
            return None
        try:
            seal = path.with_suffix(_SEAL)  # what older versions stored has none
            if seal.is_file() and seal.read_text("ascii").strip() != file_sha256(path):
                return None
            rows = pl.read_parquet(path)
            fetched_at = datetime.fromisoformat(pl.read_parquet_metadata(path)[_FETCHED_AT])
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError, PanicException):
            return None  # damaged on disk: fetching it again mends it
        is_final = fetched_at >= chunk.until + FINAL_AFTER
        if dict(rows.schema) != VENDOR_COLUMNS or not (is_final or self._is_fresh(fetched_at)):
            return None
        return rows.with_columns(pl.lit(fetched_at).cast(UTC_TIME).alias(_FETCHED_AT))

    def store(self, chunk: DownloadChunk, rows: pl.DataFrame, fetched_at: datetime) -> pl.DataFrame:
        """Write a piece atomically and return what `load` would."""
        path = self._path(chunk)
        with atomic_file(path) as temporary:
            rows.write_parquet(temporary, metadata={_FETCHED_AT: fetched_at.isoformat()})
            write_text(path.with_suffix(_SEAL), file_sha256(temporary) + "\n")
        return rows.with_columns(pl.lit(fetched_at).cast(UTC_TIME).alias(_FETCHED_AT))

    def _path(self, chunk: DownloadChunk) -> Path:
        return self.folder / as_file_stem(chunk.symbol) / f"{chunk.first}_{chunk.last}.parquet"

    def _is_fresh(self, fetched_at: datetime) -> bool:
        return timedelta(0) <= self._clock.now() - fetched_at < FRESH_FOR


def download(
    chunks: list[DownloadChunk], wire: Wire, cache: ChunkCache, clock: Clock, progress: Progress
) -> pl.DataFrame:
    """Fetch the pieces that are not on disk yet and return all of them.

    Returns:
        `symbol`, `VENDOR_COLUMNS` and `fetched_at`, in the order of the pieces and the vendor.

    Raises:
        ConfigError: If a piece reaches into the future.
        SourceError: From the wire; or if no symbol has a bar. One that has none is left out.
    """
    today = clock.now().date()
    late = [chunk for chunk in chunks if chunk.last > today]
    if late:
        raise ConfigError(
            "end must not lie in the future", was=late[0].last, remedy=f"Use --end {today}"
        )
    frames: list[pl.DataFrame] = []
    for finished, chunk in enumerate(chunks):
        progress(finished, len(chunks), str(chunk))
        rows = _obtain(chunk, wire, cache, clock)
        frames.append(rows.select(pl.lit(chunk.symbol).alias("symbol"), pl.all()))
    progress(len(chunks), len(chunks), "complete")
    found = pl.concat(frames)
    if found.is_empty():
        raise SourceError(
            "a symbol must have a bar in the range",
            was=f"none of {', '.join(sorted({chunk.symbol for chunk in chunks})[:5])}",
            where=f"{chunks[0].first} … {chunks[-1].last}",
            remedy="Correct the symbols or the range",
        )
    return found


def _obtain(chunk: DownloadChunk, wire: Wire, cache: ChunkCache, clock: Clock) -> pl.DataFrame:
    stored = cache.load(chunk)
    if stored is not None:
        return stored
    sweep_temporaries(cache.folder / as_file_stem(chunk.symbol))
    asked_at = clock.now()  # before asking: what comes later may be incomplete
    until = min(chunk.until, asked_at - SETTLING)
    is_too_young = until <= chunk.since
    rows = pl.DataFrame(schema=VENDOR_COLUMNS) if is_too_young else wire.fetch(chunk, until)
    return cache.store(chunk, rows, asked_at)
