"""`tb.load_bars` and `tb.generate_bars`: checked bars, ready for backtests, panels and training."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tradingbot.data.atomic import chosen_by, write_text
from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.ingest import ingest
from tradingbot.data.manifest import Adjustment
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.sources.source import BarSource
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.universes import load_universe
from tradingbot.domain.day_range import read_day
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.domain.universe import Member, Universe
from tradingbot.envs.build_world import world_from_inputs
from tradingbot.envs.price_world import world_of_prices
from tradingbot.envs.world import World
from tradingbot.facade.timeframe import guess_timeframe
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.pipeline import read_inputs, require_ready
from tradingbot.plugins.loading import load_installed


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tradingbot-")


def open_workspace(folder: str | Path | None) -> Path:
    """Return the folder to work in; without one, a folder that is gone when the process ends.

    Raises:
        ConfigError: If it is a URL: object stores are worked with by commands alone.
    """
    load_installed()
    if ":/" in str(folder):  # it may hold a password, which is not repeated
        remedy = "Give the folder of a mirror, or use `tradingbot --workspace URL`"
        raise ConfigError("workspace must be a folder", was="a URL", remedy=remedy)
    return Path(_temporary().name) if folder is None else Path(folder).expanduser()


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars that were read, screened and stored; `len` counts them.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("noise", symbols=["SPY"], start="2024-01-02", end="2024-03-28")
        >>> bars
        <Bars of SPY: 427 × 1h, 2024-01-02 … 2024-03-28, synthetic>
        >>> round(bars.bars_per_year)
        1751
    """

    dataset: Dataset
    name: str
    """Of the dataset in its workspace."""
    workspace: Path

    @property
    def symbols(self) -> tuple[str, ...]:
        """N names."""
        return self.dataset.manifest.symbols

    @property
    def timeframe(self) -> str:
        """Length of a bar: 1h, 1d …."""
        return self.dataset.manifest.provenance.timeframe

    @property
    def synthetic(self) -> bool:
        """Generated, not observed."""
        return self.dataset.manifest.provenance.synthetic

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per symbol and bar; columns of `data.schema.BAR_COLUMNS`."""
        return self.dataset.load_bars()

    @cached_property
    def inputs(self) -> MarketInputs:
        """The same as arrays (T, N) on one grid of closing times."""
        return read_inputs(self.dataset)

    @cached_property
    def bars_per_year(self) -> float:
        """By the calendar of the exchange: what annual figures are annualised with."""
        manifest, provenance = self.dataset.manifest, self.dataset.manifest.provenance
        first, last = manifest.first_closed_at.date(), manifest.last_closed_at.date()
        calendar = TradingCalendar.load(provenance.calendar, first, last)
        return calendar.bars_per_year(Timeframe.parse(provenance.timeframe), provenance.grid)

    @cached_property
    def prices(self) -> World:
        """A world of the bars alone; no bar is lost to the warm-up of features."""
        return world_of_prices(self.inputs, label=self._label, synthetic=self.synthetic)

    @cached_property
    def world(self) -> World:
        """A world with every registered feature, scaled by statistics of the first 70 % of bars.

        Raises:
            DataError: If there are too few bars for that.
        """
        return world_from_inputs(self.inputs, label=self._label, synthetic=self.synthetic)

    def write_csv(self, path: str | Path) -> Path:
        """Write timestamp (of the close), symbol, prices and volume; returns the path.

        Raises:
            StorageError: If the disk refuses; what was there is kept.
        """
        columns = ("open", "high", "low", "close", "volume", "vwap")
        stamps = pl.col("closed_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ").alias("timestamp")
        text = self.frame.select(stamps, "symbol", *columns).write_csv()
        with chosen_by("path", Path(path)):
            write_text(Path(path), text)
        return Path(path)

    def __len__(self) -> int:
        return self.dataset.manifest.rows

    def __repr__(self) -> str:
        manifest = self.dataset.manifest
        few = ", ".join(self.symbols) if len(self.symbols) <= 4 else f"{len(self.symbols)} symbols"
        kind = "synthetic" if self.synthetic else manifest.provenance.provider
        first, last = manifest.first_closed_at.date(), manifest.last_closed_at.date()
        return f"<Bars of {few}: {len(self):,} × {self.timeframe}, {first} … {last}, {kind}>"

    @property
    def _label(self) -> str:
        kind = "synthetic" if self.synthetic else "observed"
        return f"{self.name} ({self.dataset.id[:8]}), {kind}"


def load_bars(  # noqa: PLR0913 - one argument for each way in which files differ
    source: str | Path | pl.DataFrame | Any,
    *,
    timeframe: str | None = None,
    time_zone: str | None = None,
    stamps: Literal["open", "close"] = "open",
    calendar: str = "XNYS",
    columns: Mapping[str, str] | None = None,
    symbols: Sequence[str] | None = None,
    adjustment: Adjustment = "split",
    synthetic: bool = False,
    sort: bool = False,
    accept: Sequence[str] = (),
    name: str | None = None,
    workspace: str | Path | None = None,
) -> Bars:
    """Read bars from a CSV or Parquet file, a folder of them, or a data frame; check and store.

    Rows that cannot be right are set aside with a reason; what is suspicious in the rest is refused
    unless it is accepted by its code.

    Args:
        source: File, folder, or a Polars or pandas frame with columns timestamp (or date), open,
            high, low, close, volume and, where there are several, symbol; or the name of a dataset
            that the workspace has.
        timeframe: Length of a bar, e.g. 1h; told from the stamps by default.
        time_zone: IANA zone of stamps that carry none; days alone need none.
        stamps: What a stamp marks.
        calendar: Exchange (XNYS, XLON …), or 24/7.
        columns: Field → column, for what goes by another name.
        symbols: Only these.
        adjustment: How prices are adjusted.
        synthetic: They were generated; every result says so.
        sort: Sort rows that go back in time instead of refusing them.
        accept: Codes of errors in the readiness report that were looked at and are no defects.
        name: What to call the dataset; by default after the file.
        workspace: Folder to keep it in; by default one that is gone when the process ends.

    Raises:
        UserError: Naming file, rule, value and remedy of what cannot be used.

    Example:
        >>> import tradingbot as tb
        >>> made = tb.generate_bars("regimes", symbols=["SPY", "QQQ"], timeframe="1d")
        >>> path = made.write_csv(made.workspace / "bars.csv")
        >>> tb.load_bars(path, stamps="close", synthetic=True)
        <Bars of QQQ, SPY: 1,004 × 1d, 2023-10-02 … 2025-10-01, synthetic>
    """
    folder = open_workspace(workspace)
    if isinstance(source, str) and not Path(source).exists() and source in BarStore(folder).names():
        return Bars(BarStore(folder).open(source), source, folder)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(source) if isinstance(source, str | Path) else _write(source, Path(scratch))
        config = FileImport(
            path=path,
            columns=columns or {},
            time_zone=time_zone,
            stamps=stamps,
            timeframe=timeframe or guess_timeframe(path, columns or {}),
            grid=BarGrid.SESSION,
            calendar=calendar,
            adjustment=adjustment,
            symbols=tuple(symbols) if symbols is not None else None,
            synthetic=synthetic,
            sort=sort,
        )
        return _store(FileSource(config), name or _name_of(path), folder, accept)


def generate_bars(
    market: str = "regimes",
    *,
    symbols: Sequence[str] | str = "prototype10",
    start: str | date = "2023-10-02",
    end: str | date = "2025-10-01",
    timeframe: str = "1h",
    seed: int = 7,
    workspace: str | Path | None = None,
    **params: object,
) -> Bars:
    """Generate a synthetic market: bars whose best attainable result is known.

    Args:
        market: planted, regimes, noise …; `tradingbot market list` shows them.
        symbols: Names, or the name of a universe.
        start: First day.
        end: Last day, included.
        timeframe: Length of a bar.
        seed: The same arguments give the same bits.
        workspace: Folder to keep it in; by default one that is gone when the process ends.
        **params: Parameters of the market, e.g. kappa=0.1 of planted.

    Raises:
        ConfigError: If the market, a parameter or a symbol is unknown.
    """
    if isinstance(symbols, str):
        universe = load_universe(symbols)
    else:
        universe = Universe("chosen", tuple(Member(symbol) for symbol in symbols))
    source = SyntheticSource(
        universe=universe,
        start=read_day(start, "start"),
        end=read_day(end, "end"),
        market=market,
        seed=seed,
        timeframe=timeframe,
        params=params,
    )
    return _store(source, f"{market}-{seed}", open_workspace(workspace), ())


def _store(source: BarSource, name: str, folder: Path, accept: Sequence[str]) -> Bars:
    dataset = ingest(source, BarStore(folder), name=name).dataset
    require_ready(dataset, accept)
    return Bars(dataset, name, folder)


def _write(frame: Any, folder: Path) -> Path:
    """Write a data frame as a file of the same columns; the index of a pandas frame is a column."""
    if not isinstance(frame, pl.DataFrame):
        if not hasattr(frame, "index") or not hasattr(frame, "columns"):
            raise DataError(
                "bars must be a file, a folder or a data frame",
                was=type(frame).__name__,
                remedy="Give a path, or a frame of polars or pandas",
            )
        columns = {str(name): _column(frame[name]) for name in frame.columns}
        if type(frame.index).__name__ != "RangeIndex":
            columns[str(frame.index.name or "timestamp")] = _column(frame.index.to_series())
        frame = pl.DataFrame(columns)
    path = folder / "BARS.parquet"  # the symbol, where no column says one
    frame.write_parquet(path)
    return path


def _column(values: Any) -> pl.Series:
    """Return a column of a pandas frame; times with a zone in UTC."""
    if getattr(values.dtype, "tz", None) is not None:
        naive = values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return pl.Series(naive).dt.replace_time_zone("UTC")
    is_plain = getattr(values.dtype, "kind", "O") in "iufbM"
    return pl.Series(values.to_numpy() if is_plain else values.tolist())


def _name_of(path: Path) -> str:
    stem = re.sub(r"[^a-z0-9_.-]+", "-", path.name.split(".")[0].lower()).strip("-._")
    return stem[:64] or "bars"
