"""Bars from Parquet or CSV (.gz) files: one file, or a folder with one per symbol."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import polars as pl
from pydantic import BaseModel, ConfigDict

from tradingbot.data.atomic import file_sha256
from tradingbot.data.manifest import Adjustment, Provenance
from tradingbot.data.normalise import StampRules, require_order, resolve_columns, to_bars
from tradingbot.data.quality.row_checks import CONFLICTING_DUPLICATE
from tradingbot.data.regular_files import describe_path
from tradingbot.data.schema import BAR_COLUMNS, BAR_KEY
from tradingbot.data.sources.source import Progress, RawBars, ignore_progress
from tradingbot.data.sources.tables import FORMATS, MIN_ROWS, read_table
from tradingbot.domain.errors import DataError, require_known
from tradingbot.domain.symbol import require_symbol
from tradingbot.domain.timeframe import BarGrid, Timeframe

_GIB = 1024**3
_LONGEST_SHOWN = 200
_PLACES = 4


class FileImport(BaseModel):
    """What to read and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    """A .parquet, .csv or .csv.gz file, or a folder of them."""
    columns: Mapping[str, str] = {}
    """Field → column, for what goes by another name: {"volume": "vol"}."""
    time_zone: str | None = None
    """IANA zone of stamps that carry none; None refuses them."""
    stamps: Literal["open", "close"] = "open"
    """What a stamp marks. Taking a close for an open delays bars; the reverse would look ahead."""
    timeframe: str = "1h"
    grid: BarGrid = BarGrid.SESSION
    calendar: str = "XNYS"
    adjustment: Adjustment = "split"
    renames: Mapping[str, str] = {}
    """Symbol in the file → symbol to store."""
    symbols: tuple[str, ...] | None = None
    """Only these, after renaming; None takes all."""
    delimiter: str = ","
    synthetic: bool = False
    """They were generated elsewhere; every result says so."""
    sort: bool = False
    """Sort rows that go back in time instead of refusing them."""
    first_counts: bool = False
    """Keep two different bars of one symbol and time instead of refusing them: the reader takes
    the first."""
    max_bytes: int = 4 * _GIB
    """Refuse files that are larger than this when uncompressed."""
    min_rows: int = MIN_ROWS
    """Refuse files that have fewer bars."""


@dataclass(frozen=True)
class FileSource:
    """Delivers the bars of a file or folder."""

    config: FileImport

    @property
    def id(self) -> str:
        """`parquet` or `csv`."""
        return FORMATS[_suffix(self._files()[0])]

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Read everything; nothing is kept if any file cannot be read whole.

        Rows come sorted by symbol and close; within a symbol they must already have been in order
        unless `sort` is set.

        Raises:
            SchemaError, DataError, ConfigError: Naming file, rule and remedy.
        """
        files, rules = self._files(), self._stamp_rules()
        parts, ignored, origins = [], set(), set()
        for number, file in enumerate(files):
            progress(number, len(files), file.name)
            bars, unused, vwap = self._read(file, rules)
            parts.append(bars)
            ignored |= unused
            origins.add(vwap)
        progress(len(files), len(files), "read")
        bars = self._select(pl.concat(parts))
        if not self.config.first_counts and bars.select(BAR_KEY).is_duplicated().any():
            self._refuse_conflicts(files, parts)
        if not self.config.sort:
            require_order(bars, where=self.config.path.name)
        return RawBars(
            bars.sort(BAR_KEY, maintain_order=True),
            self._provenance(files, bars.height, ignored, is_vendor_vwap=origins == {True}),
        )

    def _files(self) -> list[Path]:
        path = self.config.path
        kind = describe_path(path)
        if kind == "a folder":
            files = sorted(f for f in path.iterdir() if _suffix(f) and not f.name.startswith("."))
        elif kind == "a file":
            files = [path] if _suffix(path) else []
        else:
            raise DataError(
                "file to import must exist and be a regular file, or a folder of such",
                was=describe_path(path),
                where=str(path)[:_LONGEST_SHOWN],
                remedy=f"Name a {', '.join(FORMATS)} file that exists",
            )
        if not files or len({FORMATS[_suffix(file)] for file in files}) > 1:
            raise DataError(
                f"import must be of one kind: {' '.join(FORMATS)}",
                was=", ".join(f.name for f in files[:5]) or "none of these",
                where=str(path),
                remedy="Name one file, or a folder that holds only Parquet or only CSV",
            )
        return files

    def _stamp_rules(self) -> StampRules:
        config = self.config
        timeframe = Timeframe.parse(config.timeframe)
        return StampRules(config.time_zone, config.stamps, timeframe, config.grid, config.calendar)

    def _read(self, file: Path, rules: StampRules) -> tuple[pl.DataFrame, set[str], bool]:
        """Bars of one file, its unused columns, and whether it brings a vwap."""
        config, where = self.config, file.name
        table = read_table(
            file,
            delimiter=config.delimiter,
            max_bytes=config.max_bytes,
            min_rows=config.min_rows,
        )
        columns = resolve_columns(table.columns, config.columns, where=where)
        unused = set(table.columns) - set(columns.values())
        if "symbol" not in columns:
            columns["symbol"] = "symbol"
            stem = unquote(file.name.removesuffix(_suffix(file)))
            table = table.with_columns(pl.lit(stem).alias("symbol"))
        bars = to_bars(table, columns, rules, where=where)
        symbols = bars["symbol"].replace(dict(config.renames))
        for symbol in symbols.unique():
            require_symbol(symbol, where=where)
        return bars.with_columns(symbols), unused, "vwap" in columns

    def _select(self, bars: pl.DataFrame) -> pl.DataFrame:
        wanted = self.config.symbols
        if wanted is None:
            return bars
        found = set(bars["symbol"].unique())
        for symbol in wanted:
            rule, where = "wanted symbol must be in the file", self.config.path.name
            require_known(symbol, found, rule, where=where, error=DataError)
        return bars.filter(pl.col("symbol").is_in(wanted))

    def _refuse_conflicts(self, files: list[Path], parts: list[pl.DataFrame]) -> None:
        """Refuse two different bars of one symbol and time, naming files and lines.

        A row that was given more than once is none: `quality` drops the repeats and says so.
        """
        first = 1 if self.id == "parquet" else 2  # of a CSV file the header is line 1
        numbered = [
            part.with_row_index("line", offset=first).with_columns(file=pl.lit(file.name))
            for file, part in zip(files, parts, strict=True)
        ]
        rows = pl.concat(numbered).drop_nulls(BAR_KEY)
        if self.config.symbols is not None:
            rows = rows.filter(pl.col("symbol").is_in(self.config.symbols))
        unlike = rows.unique(list(BAR_COLUMNS), keep="first", maintain_order=True)
        conflicts = unlike.filter(pl.struct(BAR_KEY).is_duplicated())
        if conflicts.is_empty():
            return
        symbol, closed_at = conflicts.select(BAR_KEY).row(0)
        same = conflicts.filter(symbol=symbol, closed_at=closed_at)
        word = "row" if self.id == "parquet" else "line"
        places = [f"{name} {word} {line}" for name, line in same.select("file", "line").rows()]
        more = conflicts.select(pl.struct(BAR_KEY).n_unique()).item() - 1
        raise DataError(
            f"{CONFLICTING_DUPLICATE.message} [{CONFLICTING_DUPLICATE.code}]",
            was=" and ".join(places[:_PLACES]),
            where=f"{symbol} that closes at {closed_at:%Y-%m-%d %H:%M}Z"
            + (f"; {more} more like it" if more else ""),
            remedy="Mend the file: leave one of them",
        )

    def _provenance(
        self, files: list[Path], rows: int, ignored: set[str], *, is_vendor_vwap: bool
    ) -> Provenance:
        config = self.config
        hashes = [f"{file.name} {file_sha256(file)}" for file in files]
        detail: dict[str, str | int | float | bool] = {
            "file": config.path.name,
            "files": len(files),
            "sha256": hashes[0].split()[-1]
            if config.path.is_file()
            else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
            "rows": rows,
            "stamps": config.stamps,
            "ignored_columns": ", ".join(sorted(ignored)),
        }
        if config.path.is_dir():
            detail["file_names"] = ", ".join(file.name for file in files)
        for key, mapping in (("columns", config.columns), ("renames", config.renames)):
            if mapping:
                detail[key] = ", ".join(f"{k}={v}" for k, v in sorted(mapping.items()))
        if config.time_zone:
            detail["time_zone"] = config.time_zone
        return Provenance(
            provider=self.id,
            detail=detail,
            timeframe=config.timeframe,
            grid=config.grid,
            calendar=config.calendar,
            adjustment=config.adjustment,
            vwap="vendor" if is_vendor_vwap else "typical_price",
            synthetic=config.synthetic,
        )


def _suffix(file: Path) -> str:
    name = file.name.lower()
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), "")
