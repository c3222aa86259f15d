"""A source to copy when you add one: it runs, and does the least a source must do.

Copy to `sources/<vendor>.py`, rename the two classes, replace the marked lines, and add it to the
conformance tests. What a source must and must not do:

| must | must not |
|---|---|
| give every column of `BAR_COLUMNS`, typed | fill, repair, clip or drop a row |
| stamp bars with their close, in UTC | guess a time zone |
| set `known_at` to when the bar could first be seen, never before its close | judge values: `quality` does |
| record in `Provenance.detail` all that would be needed to fetch the same bars again | record secrets |
| raise `SourceError` (vendor), `SchemaError` or `DataError` (content) | print, or retry for ever |
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import polars as pl
from pydantic import BaseModel, ConfigDict

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.data.schema import BAR_COLUMNS, BAR_KEY
from tradingbot.data.sources.source import Progress, RawBars, ignore_progress
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.symbol import require_symbol
from tradingbot.domain.timeframe import BarGrid, Timeframe


class TemplateImport(BaseModel):
    """What to fetch. Frozen, unknown keys refused; every field says its unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    symbols: tuple[str, ...]
    start: date
    """First day."""
    end: date
    """Last day, included."""
    timeframe: str = "1h"
    calendar: str = "XNYS"


@dataclass(frozen=True)
class TemplateSource:
    """Delivers a flat price of 100 for every bar of the calendar; synthetic."""

    config: TemplateImport

    @property
    def id(self) -> str:
        """Short name, shown to people and stored with the dataset."""
        return "template"

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Deliver all bars, symbol by symbol."""
        symbols = [require_symbol(symbol) for symbol in self.config.symbols]
        if not symbols:
            raise ConfigError("symbols must name at least one", was="none")
        parts = []
        for number, symbol in enumerate(symbols):
            progress(number, len(symbols), symbol)
            parts.append(self._fetch_symbol(symbol))
        progress(len(symbols), len(symbols), "fetched")
        return RawBars(pl.concat(parts).sort(BAR_KEY), self._provenance())

    def _fetch_symbol(self, symbol: str) -> pl.DataFrame:
        # Replace from here: ask the vendor and put the answer into these columns.
        config = self.config
        calendar = TradingCalendar.load(config.calendar, config.start, config.end)
        closes = calendar.bar_closes(Timeframe.parse(config.timeframe), BarGrid.SESSION)
        return closes.select(
            pl.lit(symbol).alias("symbol"),
            pl.col("closed_at"),
            pl.col("closed_at").alias("known_at"),
            *(pl.lit(100.0).alias(name) for name in ("open", "high", "low", "close")),
            pl.lit(1_000.0).alias("volume"),
            pl.lit(100.0).alias("vwap"),
        ).select(list(BAR_COLUMNS))

    def _provenance(self) -> Provenance:
        config = self.config
        return Provenance(
            provider=self.id,
            detail={
                "symbols": ", ".join(config.symbols),
                "start": str(config.start),
                "end": str(config.end),
            },
            timeframe=config.timeframe,
            calendar=config.calendar,
            adjustment="split",
            synthetic=True,  # False for a vendor
        )
