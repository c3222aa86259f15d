"""Rules about the dataset as a whole: how it was read, its covariates, and its universe.

Reading: stamps that show bars early, and how much was set aside.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import as_text, describe, hit, no_hits
from tradingbot.data.quality.row_checks import DUPLICATE_ROW
from tradingbot.data.quality.view import QualityView
from tradingbot.data.stamp_checks import (
    EDGE_BARS_FRAC,
    FULL_SESSION_BARS,
    MIN_SESSIONS,
    count_session_edges,
    is_early,
    is_endless,
)
from tradingbot.data.universes import membership_mask
from tradingbot.domain.symbol import is_symbol

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
    "NO_OPENING_BAR",
    "D12",
    "sessions must have a bar that opens at their start; check time zone and bar start or end",
)
def find_no_opening_bar(view: QualityView) -> pl.DataFrame:
    """Symbols that hardly ever have the first bar of their sessions: closes taken for openings."""
    starts = view.session_starts
    if not len(starts):
        return no_hits()
    is_full = np.add.reduceat(view.present, starts, axis=0, dtype=np.int64) >= FULL_SESSION_BARS
    begun, full = (view.present[starts] & is_full).sum(axis=0), is_full.sum(axis=0)
    columns = np.flatnonzero((full >= MIN_SESSIONS) & (begun < EDGE_BARS_FRAC * full))
    hits = pl.DataFrame(
        {"symbol": view.names(columns), "begun": begun[columns], "full": full[columns]}
    )
    return describe(hits, pl.format("in {} of {} sessions", "begun", "full"), at=None)


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


SENTIMENT = "sentiment"
SENTIMENT_STALE_AFTER = timedelta(days=7)


@check.error("SENTIMENT_OUT_OF_RANGE", "", "sentiment must lie in [0, 1]")
def find_values_out_of_range(view: QualityView) -> pl.DataFrame:
    """Sentiment below 0 or above 1."""
    value = pl.col("value")
    is_out = value.is_finite() & ~value.is_between(0, 1)
    return _shown(_sentiment(view).filter(is_out))


@check.error("COVARIATE_NOT_FINITE", "D01", "a covariate must be a finite number")
def find_values_not_finite(view: QualityView) -> pl.DataFrame:
    """Values of any covariate that are NaN or infinite."""
    return _shown(view.covariates.filter(~pl.col("value").is_finite()))


@check.warning("COVARIATE_UNKNOWN_SYMBOL", "", "a covariate belongs to a symbol without bars")
def find_values_without_bars(view: QualityView) -> pl.DataFrame:
    """Covariates of symbols that have no bar."""
    return _shown(view.covariates.filter(~pl.col("symbol").is_in(view.symbols)))


@check.info("SENTIMENT_ABSENT", "", "no symbol has sentiment")
def find_no_sentiment(view: QualityView) -> pl.DataFrame:
    """Say that the sentiment feature will be neutral for all."""
    return no_hits() if _sentiment(view).height else hit("0.5 will be used")


@check.warning("COVARIATE_MISSING", "", "a symbol lacks a covariate that others have")
def find_symbols_without(view: QualityView) -> pl.DataFrame:
    """Symbols that lack a covariate which others have."""
    have = view.covariates.select("symbol", "name").unique()
    every = pl.DataFrame({"symbol": view.symbols}).join(have.select("name").unique(), how="cross")
    lacking = every.join(have, on=["symbol", "name"], how="anti").sort("symbol", "name")
    return describe(lacking, pl.col("name"), at=None)


@check.warning("SENTIMENT_STALE", "D20", "sentiment is silent for more than a week")
def find_stale_sentiment(view: QualityView) -> pl.DataFrame:
    """Stretches of more than a week between two values, or a value and the symbol's last bar."""
    until = view.bars.group_by("symbol").agg(until=pl.col("closed_at").last())
    values = _sentiment(view).join(until, on="symbol", how="inner", maintain_order="left")
    following = pl.coalesce(pl.col("available_at").shift(-1).over("symbol"), pl.col("until"))
    # As a column: after the filter, the next value would be another one.
    values = values.with_columns(silence=following - pl.col("available_at"))
    silence = pl.col("silence")
    example = pl.format("silent for {} days", silence.dt.total_days())
    is_stale = (silence > SENTIMENT_STALE_AFTER) & (pl.col("available_at") < pl.col("until"))
    return describe(values.filter(is_stale), example, at="available_at")


def _sentiment(view: QualityView) -> pl.DataFrame:
    return view.covariates.filter(pl.col("name") == SENTIMENT)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    return describe(rows, pl.format("{} {}", "name", as_text("value")), at="available_at")


@check.error(
    check.SYMBOL_UNSAFE,
    "D31",
    "symbol must not run as a formula or leave its folder",
    check.FindingAction.REFUSED,
)
def find_unsafe_symbols(view: QualityView) -> pl.DataFrame:
    """Names that a spreadsheet would run or that climb out of a folder."""
    names = {*view.symbols, *view.covariates["symbol"].unique()}
    return _names(sorted(name for name in names if not is_symbol(name)), "unsafe name")


@check.warning("UNKNOWN_SYMBOL", "", "the universe does not name this symbol")
def find_unknown_symbols(view: QualityView) -> pl.DataFrame:
    """Symbols with bars that the universe does not name."""
    if view.universe is None:
        return no_hits()
    known = set(view.universe.symbols)
    return _names([name for name in view.symbols if name not in known], view.universe.name)


@check.warning("MEMBER_WITHOUT_BARS", "D21", "a member of the universe has no bar")
def find_members_without_bars(view: QualityView) -> pl.DataFrame:
    """Members that should have bars in the set's range and have none at all."""
    if view.universe is None or not view.grid.height:
        return no_hits()
    absent = [name for name in view.universe.symbols if name not in view.symbols]
    closes = view.grid["closed_at"].to_numpy().astype("datetime64[us]")
    is_due = membership_mask(view.universe, absent, closes).any(axis=0)
    return _names([absent[i] for i in np.flatnonzero(is_due)], view.universe.name)


@check.info("OUTSIDE_MEMBERSHIP", "D21", "bars before joining or after leaving the universe")
def find_bars_outside_membership(view: QualityView) -> pl.DataFrame:
    """Bars of known symbols before they joined or after they left."""
    outside = view.present & ~view.expected
    columns, slots = np.nonzero(outside.T)
    hits = pl.DataFrame({"symbol": view.names(columns), "at": view.at(slots)})
    return hits.with_columns(example=pl.lit("not a member then"))


@check.info(
    "SURVIVORSHIP_BIAS", "D21", "no symbol was ever delisted: long-only results are flattered"
)
def find_survivorship(view: QualityView) -> pl.DataFrame:
    """Say that nothing in the set ever ceased to trade, so results flatter the long side."""
    if view.provenance.synthetic or not view.grid.height:
        return no_hits()
    last_session = view.session_index[-1]
    has_delisted = (view.session_index[view.last_slot] < last_session - 1).any()
    return no_hits() if has_delisted else hit(f"all {len(view.symbols)} symbols reach the end")


def _names(names: list[str], example: str) -> pl.DataFrame:
    return pl.DataFrame([(name, None, example) for name in names], check.HIT_COLUMNS, orient="row")
