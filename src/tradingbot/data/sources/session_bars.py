"""From a vendor's rows, stamped at their start, to regular-session bars, stamped at their close.

Whatever is left out is counted by reason; nothing is filled.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.schema import BAR_COLUMNS, PRICE_COLUMNS
from tradingbot.data.sources.download import SETTLING
from tradingbot.domain.errors import SourceError
from tradingbot.domain.timeframe import BarGrid, Timeframe

_TYPICAL = (pl.col("high") + pl.col("low") + pl.col("close")) / 3


@dataclass(frozen=True)
class SessionBars:
    """Bars in the bar schema, and how many vendor rows were left out, by reason."""

    bars: pl.DataFrame
    left_out: dict[str, int]


def to_session_bars(
    rows: pl.DataFrame,
    calendar: TradingCalendar,
    timeframe: Timeframe,
    grid: BarGrid,
    *,
    vendor_timeframe: Timeframe,
) -> SessionBars:
    """Keep complete bars inside sessions and stamp them with their close.

    Where `vendor_timeframe` is shorter than `timeframe`, the vendor's bars inside one bar of the
    grid are merged: first open, highest high, lowest low, last close, summed volume,
    volume-weighted mean of the vwaps.

    Args:
        rows: `symbol`, `download.VENDOR_COLUMNS` and `fetched_at`.
        calendar: Covers every row that is to be kept.
        timeframe: Length of the bars wanted.
        grid: Where they begin.
        vendor_timeframe: Length of the bars in `rows`.

    Raises:
        SourceError: If bars have to be merged and the vendor repeats one.
    """
    has_price = pl.any_horizontal(pl.col(*PRICE_COLUMNS).is_not_nan())
    priced = rows.filter(has_price)
    placed = _place(priced, calendar, timeframe, grid)
    inside = placed.filter(pl.col("closed_at").is_not_null())
    merges = vendor_timeframe != timeframe
    aligned = inside if merges else inside.filter(pl.col("is_start"))
    finished = aligned.filter(pl.col("closed_at") <= pl.col("fetched_at") - SETTLING)
    left_out = {
        "empty_rows": rows.height - priced.height,
        "outside_session_rows": placed.height - inside.height,
        "off_grid_rows": inside.height - aligned.height,
        "unfinished_rows": aligned.height - finished.height,
    }
    bars = _merge(finished) if merges else finished
    typical_where_unknown = (
        pl.when(pl.col("vwap").is_nan()).then(_TYPICAL).otherwise("vwap").alias("vwap")
    )
    stamped = bars.with_columns(typical_where_unknown, known_at=pl.col("closed_at"))
    return SessionBars(stamped.select(pl.col(c).cast(k) for c, k in BAR_COLUMNS.items()), left_out)


def _place(
    rows: pl.DataFrame, calendar: TradingCalendar, timeframe: Timeframe, grid: BarGrid
) -> pl.DataFrame:
    """Add `closed_at` of the bar each row lies in (null outside sessions) and `is_start`."""
    expected = calendar.bar_closes(timeframe, grid).select("opened_at", "closed_at")
    if timeframe.is_daily:
        closes = calendar.close_of(rows["started_at"], timeframe, grid)
        is_session = closes.is_in(expected["closed_at"].implode())
        return rows.with_columns(
            pl.when(is_session).then(closes).alias("closed_at"), is_start=pl.lit(True)
        )
    ordered = rows.with_row_index("position").sort("started_at")
    joined = ordered.join_asof(expected, left_on="started_at", right_on="opened_at").sort(
        "position"
    )
    is_inside = pl.col("started_at") < pl.col("closed_at")
    return joined.with_columns(
        pl.when(is_inside).then("closed_at").alias("closed_at"),
        is_start=pl.col("started_at") == pl.col("opened_at"),
    ).drop("position", "opened_at")


def _merge(rows: pl.DataFrame) -> pl.DataFrame:
    repeated = rows.filter(pl.struct("symbol", "started_at").is_duplicated())
    if repeated.height:
        raise SourceError(
            "vendor must not repeat a bar",
            was=f"{repeated['symbol'][0]} {repeated['started_at'][0]:%Y-%m-%dT%H:%MZ}",
            remedy="Delete the download folder and run the command again",
        )
    weighted = (pl.col("vwap") * pl.col("volume")).sum() / pl.col("volume").sum()
    return (
        rows.sort("symbol", "started_at")
        .group_by("symbol", "closed_at", maintain_order=True)
        .agg(
            pl.col("open").first(),
            pl.col("high").nan_max(),
            pl.col("low").nan_min(),
            pl.col("close").last(),
            pl.col("volume").sum(),
            weighted.alias("vwap"),
        )
    )
