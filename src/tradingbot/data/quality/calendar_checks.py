"""Rules about which bars exist: gaps, half days, days of clock change, closed days, history.

Bars that should exist come from the exchange calendar; see `view`. History: where it starts and
ends, how full it is, how fresh.
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
    absent = _missing_sessions(view) | ~any_in_session(view.present, view)[:, None]
    whole = absent[view.session_index]
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


LATE_START_SESSIONS = 5
EARLY_END_SESSIONS = 2
LOW_COVERAGE_FRAC = 0.95
THIN_CROSS_SECTION_FRAC = 0.8
OVERDUE_BARS = 2
_SHOWN_AFTER = pl.format("{} sessions after the set{}", "count", "cause")
_SHOWN_BEFORE = pl.format("{} sessions before the set{}", "count", "cause")


@check.info("STARTS_LATE", "", "history starts late: listed later?")
def find_late_starts(view: QualityView) -> pl.DataFrame:
    """Symbols whose history begins well after the set's (or after they joined)."""
    first = np.minimum(view.first_slot, view.grid.height - 1)
    late = view.session_index[first] - view.session_index[view.expected.argmax(axis=0)]
    before = np.arange(view.grid.height)[:, None] < first
    hits = _by_column(view, first, late, view.set_aside & before)
    return describe(hits.filter(pl.col("count") > LATE_START_SESSIONS), _SHOWN_AFTER, at="at")


@check.warning("ENDS_EARLY", "D21", "history ends early: delisted or renamed?")
def find_early_ends(view: QualityView) -> pl.DataFrame:
    """Symbols whose history ends before the set's (or before they left)."""
    last = np.maximum(view.last_slot, 0)
    end = view.grid.height - 1 - view.expected[::-1].argmax(axis=0)
    early = view.session_index[end] - view.session_index[last]
    after = np.arange(view.grid.height)[:, None] > last
    hits = _by_column(view, last, early, view.set_aside & after)
    return describe(hits.filter(pl.col("count") >= EARLY_END_SESSIONS), _SHOWN_BEFORE, at="at")


@check.warning("LOW_COVERAGE", "D08", "less than 95 % of the expected bars")
def find_low_coverage(view: QualityView) -> pl.DataFrame:
    """Symbols that have too few of the bars they should have."""
    expected = np.maximum(view.expected.sum(axis=0), 1)
    present = (view.present & view.expected).sum(axis=0)
    columns = np.flatnonzero(present < LOW_COVERAGE_FRAC * expected)
    hits = pl.DataFrame(
        {"symbol": view.names(columns), "p": present[columns], "e": expected[columns]}
    )
    return describe(hits, pl.format("{} of {} bars", "p", "e"), at=None)


@check.warning("THIN_CROSS_SECTION", "D08", "less than 80 % of the symbols have a bar at a time")
def find_thin_cross_sections(view: QualityView) -> pl.DataFrame:
    """Times at which too few of the living symbols have a bar."""
    alive = (view.lifetime & view.expected).sum(axis=1)
    present = view.present.sum(axis=1)
    has_session = any_in_session(view.present, view)[view.session_index]
    slots = np.flatnonzero((present < THIN_CROSS_SECTION_FRAC * alive) & has_session)
    hits = pl.DataFrame({"at": view.at(slots), "p": present[slots], "a": alive[slots]})
    hits = hits.with_columns(symbol=pl.lit(None, pl.String))
    day = pl.col("at").dt.to_string("%Y-%m-%d %H:%M")
    return describe(hits, pl.format("{}: {} of {} symbols", day, "p", "a"), at="at")


@check.warning("TRAILING_INCOMPLETE", "D08", "the trailing bars must be complete")
def find_incomplete_trails(view: QualityView) -> pl.DataFrame:
    """Bars absent among the last ones, from which the next decision would be made."""
    mask = view.expected & ~view.present
    mask[: max(0, view.grid.height - view.trailing_bars)] = False
    return absent_bars(view, mask)


@check.warning("BARS_OVERDUE", "D20", "the last bars are old")
def find_overdue(view: QualityView) -> pl.DataFrame:
    """Bars that should have arrived between the set's end and the time asked about."""
    if view.overdue_bars < OVERDUE_BARS:
        return no_hits()
    return hit(f"{view.overdue_bars} bars are overdue")


def _by_column(
    view: QualityView, slots: np.ndarray, counts: np.ndarray, aside: np.ndarray
) -> pl.DataFrame:
    """One row per symbol: `at` its slot, `count` of sessions, `cause` where rows were set aside."""
    cause = np.where(aside.any(axis=0), ", rows there were quarantined", "")
    columns = {"symbol": view.symbols, "at": view.at(slots), "count": counts, "cause": cause}
    return pl.DataFrame(columns, schema_overrides={"symbol": pl.String, "cause": pl.String})
