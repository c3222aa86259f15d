"""Rules about how a set was read: stamps that show bars early, and how much was set aside."""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import describe, hit, no_hits
from tradingbot.data.quality.row_checks import DUPLICATE_ROW
from tradingbot.data.quality.view import QualityView
from tradingbot.data.stamp_checks import count_session_edges, is_early, is_endless

QUARANTINED_FRAC = 0.2


@check.error(
    "CLOSES_AT_OPEN",
    "D12",
    "a bar must not close when its session opens; check time zone and bar start or end",
)
def find_closes_at_open(view: QualityView) -> pl.DataFrame:
    """Symbols whose bars close the moment a session opens: an hour early, or opening stamps."""
    example = pl.format("in {} of {} sessions", "openings", "sessions")
    return describe(_edges(view).filter(is_early()), example, at="first_opening")


@check.error(
    "NO_CLOSING_BAR",
    "D12",
    "sessions must have a bar that closes at their end; check time zone and bar start or end",
)
def find_no_closing_bar(view: QualityView) -> pl.DataFrame:
    """Symbols that hardly ever have a bar at the end of their sessions."""
    example = pl.format("in {} of {} sessions", "closings", "full_sessions")
    return describe(_edges(view).filter(is_endless()), example, at=None)


@check.error(
    "MOSTLY_QUARANTINED",
    "D25",
    "at most 20 % of all rows may be quarantined; check how columns were mapped",
)
def find_mostly_quarantined(view: QualityView) -> pl.DataFrame:
    """Say that so much was set aside that the rest stands for nothing."""
    aside, rows = _set_aside(view).height, view.bars.height
    if aside <= QUARANTINED_FRAC * (aside + rows):
        return no_hits()
    return hit(f"{aside} of {aside + rows} rows")


@check.warning("SYMBOL_QUARANTINED", "D25", "more than 20 % of a symbol's rows were quarantined")
def find_quarantined_symbols(view: QualityView) -> pl.DataFrame:
    """Symbols of which much was set aside, also those of which nothing is left."""
    aside = _set_aside(view)
    if aside.is_empty():
        return no_hits()
    bars = view.bars.group_by("symbol").agg(bars=pl.len().cast(pl.Int64))
    counts = aside.drop_nulls("symbol").group_by("symbol").agg(aside=pl.len().cast(pl.Int64))
    rows = pl.col("aside") + pl.col("bars").fill_null(0)
    many = counts.join(bars, on="symbol", how="left").filter(
        pl.col("aside") > QUARANTINED_FRAC * rows
    )
    return describe(many.sort("symbol"), pl.format("{} of {} rows", "aside", rows), at=None)


def _edges(view: QualityView) -> pl.DataFrame:
    return count_session_edges(view.bars["closed_at"], view.bars["symbol"], view.sessions)


def _set_aside(view: QualityView) -> pl.DataFrame:
    """Rows set aside; a repeat is not one: the row it repeats was judged by itself."""
    if "code" not in view.quarantine.columns:
        return pl.DataFrame()
    return view.quarantine.filter(pl.col("code") != DUPLICATE_ROW.code)
