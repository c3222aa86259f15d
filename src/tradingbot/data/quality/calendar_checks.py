"""Rules about which bars exist: gaps, half days, days of clock change, closed days, coverage.

Bars that should exist come from the exchange calendar; see `view`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import HIT_COLUMNS, describe, hit, no_hits
from tradingbot.data.quality.view import BoolArray, QualityView

WRONG_GRID_FRAC = 0.2  # more bars off the grid than this: the whole reading of stamps is wrong
LONG_GAP_SESSIONS = 5


@check.warning("MARKET_GAP", "D08", "a session must have bars")
def find_market_gaps(view: QualityView) -> pl.DataFrame:
    """Sessions of which no symbol has a bar."""
    closed = np.flatnonzero(~any_in_session(view.present, view))
    count = len(view.session_starts)
    return _session_hits(view, closed, np.full(count, len(view.symbols)), np.zeros(count, int))


@check.warning("MISSING_SESSIONS", "D08", "a symbol lacks sessions")
def find_missing_sessions(view: QualityView) -> pl.DataFrame:
    """Sessions that one symbol lacks and another has."""
    sessions, columns = np.nonzero(_missing_sessions(view))
    return pl.DataFrame(
        {
            "symbol": view.names(columns),
            "at": view.at(view.session_starts[sessions]),
            "example": view.grid["session"].gather(view.session_starts[sessions]).cast(pl.String),
        },
        schema=HIT_COLUMNS,
    )


@check.warning("MISSING_BARS", "D08", "a symbol lacks bars inside sessions")
def find_missing_bars(view: QualityView) -> pl.DataFrame:
    """Bars absent inside ordinary sessions that have others."""
    special = (view.grid["is_half_day"] | view.grid["is_dst"]).to_numpy()
    whole = spread(_missing_sessions(view) | ~any_in_session(view.present, view)[:, None], view)
    return absent_bars(view, view.missing & ~whole & ~special[:, None])


@check.warning("LONG_GAP", "D08", "a symbol lacks bars for a week or more")
def find_long_gaps(view: QualityView) -> pl.DataFrame:
    """Runs of absent bars that span several sessions."""
    absent = np.zeros((len(view.symbols), view.grid.height + 2), dtype=np.int8)
    absent[:, 1:-1] = view.missing.T
    edges = np.diff(absent, axis=1)
    columns, first = np.nonzero(edges == 1)
    last = np.nonzero(edges == -1)[1] - 1
    span = view.session_index[last] - view.session_index[first] + 1
    keep = span >= LONG_GAP_SESSIONS
    hits = pl.DataFrame(
        {
            "symbol": view.names(columns[keep]),
            "at": view.at(first[keep]),
            "bars": (last - first + 1)[keep],
            "until": view.at(last[keep]),
        }
    )
    example = pl.format("{} bars until {}", "bars", pl.col("until").dt.to_string("%Y-%m-%d %H:%M"))
    return describe(hits, example, at="at")


@check.warning("HALF_DAY_BARS", "D10", "a half day lacks bars")
def find_short_half_days(view: QualityView) -> pl.DataFrame:
    """Half days on which symbols lack bars."""
    return _short_sessions(view, "is_half_day")


@check.warning("DST_DAY_BARS", "D09", "the first session after a change of clocks lacks bars")
def find_short_dst_days(view: QualityView) -> pl.DataFrame:
    """First sessions after a change of clocks on which symbols lack bars."""
    return _short_sessions(view, "is_dst")


@check.error(
    "WRONG_GRID",
    "D12",
    "stamps must lie on the grid of the calendar; check time zone, grid and bar start or end",
    is_fatal=True,
)
def find_wrong_grid(view: QualityView) -> pl.DataFrame:
    """Too many stamps off the grid to be single mistakes."""
    off = view.bars["slot"].null_count()
    if off <= WRONG_GRID_FRAC * view.bars.height:
        return no_hits()
    return hit(f"{off} of {view.bars.height} bars are not on the {view.provenance.grid} grid")


@check.warning("BAR_ON_CLOSED_DAY", "D11", "a bar lies on a closed day")
def find_closed_day_bars(view: QualityView) -> pl.DataFrame:
    """Bars on days without a session: holidays, weekends, ad-hoc closures."""
    return _off_grid_hits(view, pl.col("opens_at").is_null())


@check.warning("BAR_AFTER_EARLY_CLOSE", "D10", "a half day has bars after its close")
def find_late_half_day_bars(view: QualityView) -> pl.DataFrame:
    """Bars after the early close of a half day."""
    return _off_grid_hits(view, _IS_AFTER_EARLY_CLOSE)


@check.warning("BAR_OFF_GRID", "", "a bar does not close on the grid")
def find_off_grid_bars(view: QualityView) -> pl.DataFrame:
    """Bars on a trading day, but not at a time of the grid."""
    return _off_grid_hits(view, pl.col("opens_at").is_not_null() & ~_IS_AFTER_EARLY_CLOSE)


_IS_AFTER_EARLY_CLOSE = pl.col("is_half_day").fill_null(False) & (
    pl.col("closed_at") > pl.col("closes_at")
)


def any_in_session(mask: BoolArray, view: QualityView) -> BoolArray:
    """(S,) True where any symbol has a True in the session."""
    if not view.grid.height:
        return np.zeros(0, dtype=bool)
    return np.asarray(np.logical_or.reduceat(mask.any(axis=1), view.session_starts))


def _missing_sessions(view: QualityView) -> BoolArray:
    """(S, N) True where a symbol lacks a whole session that others have."""
    if not view.grid.height:
        return np.zeros((0, len(view.symbols)), dtype=bool)
    absent = np.logical_and.reduceat(view.missing, view.session_starts, axis=0)
    return np.asarray(absent & any_in_session(view.present, view)[:, None])


def spread(per_session: BoolArray, view: QualityView) -> BoolArray:
    """(S, N) → (T, N)."""
    return per_session[view.session_index]


def _short_sessions(view: QualityView, kind: str) -> pl.DataFrame:
    mask = view.missing & view.grid[kind].to_numpy()[:, None]
    if not mask.any():
        return no_hits()
    short, aside = (
        np.logical_or.reduceat(part, view.session_starts, axis=0).sum(axis=1)
        for part in (mask, mask & view.set_aside)
    )
    return _session_hits(view, np.flatnonzero(short), short, aside)


def _session_hits(
    view: QualityView, sessions: np.ndarray, lacking: np.ndarray, aside: np.ndarray
) -> pl.DataFrame:
    """Describe sessions by how many symbols lack bars, and for how many they were quarantined.

    Both counts are (S,).
    """
    slots = view.session_starts[sessions]
    hits = pl.DataFrame(
        {
            "symbol": pl.repeat(None, len(slots), dtype=pl.String, eager=True),
            "at": view.at(slots),
            "session": view.grid["session"].gather(slots),
            "lacking": lacking[sessions],
            "aside": aside[sessions],
        }
    )
    count = pl.format(f"{{}}: {{}} of {len(view.symbols)} symbols", "session", "lacking")
    cause = pl.when(pl.col("aside") > 0).then(pl.format(", {} quarantined", "aside"))
    return describe(hits, count + cause.otherwise(pl.lit("")), at="at")


def absent_bars(view: QualityView, mask: BoolArray) -> pl.DataFrame:
    """Describe absent bars, (T, N), by symbol, time and whether they were quarantined."""
    columns, slots = np.nonzero(mask.T)
    hits = pl.DataFrame({"symbol": view.names(columns), "at": view.at(slots)})
    cause = np.where(view.set_aside[slots, columns], "quarantined", "no bar")
    return describe(hits.with_columns(example=pl.Series(cause)), pl.col("example"), at="at")


def _off_grid_hits(view: QualityView, kind: pl.Expr) -> pl.DataFrame:
    if not view.bars["slot"].null_count():
        return no_hits()
    just_before = pl.col("closed_at").dt.offset_by("-1us").dt.convert_time_zone(view.time_zone)
    off = view.bars.filter(pl.col("slot").is_null()).with_columns(session=just_before.dt.date())
    local = pl.col("closed_at").dt.convert_time_zone(view.time_zone).dt.to_string("%a %H:%M local")
    known = off.join(view.sessions, on="session", how="left", maintain_order="left")
    return describe(known.filter(kind), local)
