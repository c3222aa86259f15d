"""Rules about which bars exist: gaps, half days, days of clock change, closed days, coverage.

Bars that should exist come from the exchange calendar; see `view`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.quality.check import HIT_COLUMNS, MarketCheck, hit, no_hits
from tradingbot.data.quality.finding import Severity
from tradingbot.data.quality.view import BoolArray, MarketView
from tradingbot.data.schema import UTC_TIME

WRONG_GRID_FRAC = 0.2  # more bars off the grid than this: the whole reading of stamps is wrong
LONG_GAP_SESSIONS = 5
LATE_START_SESSIONS = 5
EARLY_END_SESSIONS = 2
LOW_COVERAGE_FRAC = 0.95
THIN_CROSS_SECTION_FRAC = 0.8
OVERDUE_BARS = 2


def find_market_gaps(view: MarketView) -> pl.DataFrame:
    """Sessions of which no symbol has a bar."""
    closed = np.flatnonzero(~_any_in_session(view.present, view))
    return _session_hits(view, closed, f"none of {len(view.symbols)} symbols")


def find_missing_sessions(view: MarketView) -> pl.DataFrame:
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


def find_missing_bars(view: MarketView) -> pl.DataFrame:
    """Bars absent inside ordinary sessions that have others."""
    special = (view.grid["is_half_day"] | view.grid["is_dst"]).to_numpy()
    whole = _spread(_missing_sessions(view) | ~_any_in_session(view.present, view)[:, None], view)
    return _bar_hits(view, view.missing & ~whole & ~special[:, None], "no bar")


def find_long_gaps(view: MarketView) -> pl.DataFrame:
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
    example = pl.format("{} bars until {}", "bars", pl.col("until").dt.to_string("iso"))
    return hits.select("symbol", "at", example=example)


def find_short_half_days(view: MarketView) -> pl.DataFrame:
    """Half days on which symbols lack bars."""
    return _short_sessions(view, "is_half_day")


def find_short_dst_days(view: MarketView) -> pl.DataFrame:
    """First sessions after a change of clocks on which symbols lack bars."""
    return _short_sessions(view, "is_dst")


def find_wrong_grid(view: MarketView) -> pl.DataFrame:
    """Too many stamps off the grid to be single mistakes."""
    off = view.bars["slot"].null_count()
    if off <= WRONG_GRID_FRAC * view.bars.height:
        return no_hits()
    return hit(f"{off} of {view.bars.height} bars are not on the {view.provenance.grid} grid")


def find_closed_day_bars(view: MarketView) -> pl.DataFrame:
    """Bars on days without a session: holidays, weekends, ad-hoc closures."""
    return _off_grid_hits(view, pl.col("opens_at").is_null())


def find_late_half_day_bars(view: MarketView) -> pl.DataFrame:
    """Bars after the early close of a half day."""
    return _off_grid_hits(view, _IS_AFTER_EARLY_CLOSE)


def find_off_grid_bars(view: MarketView) -> pl.DataFrame:
    """Bars on a trading day, but not at a time of the grid."""
    return _off_grid_hits(view, pl.col("opens_at").is_not_null() & ~_IS_AFTER_EARLY_CLOSE)


def find_late_starts(view: MarketView) -> pl.DataFrame:
    """Symbols whose history begins well after the set's (or after they joined)."""
    first = np.minimum(view.first_slot, view.grid.height - 1)
    late = view.session_index[first] - view.session_index[view.expected.argmax(axis=0)]
    columns = np.flatnonzero(late > LATE_START_SESSIONS)
    return _column_hits(view, columns, first[columns], late[columns], "{} sessions after the set")


def find_early_ends(view: MarketView) -> pl.DataFrame:
    """Symbols whose history ends before the set's (or before they left)."""
    last = np.maximum(view.last_slot, 0)
    end = view.grid.height - 1 - view.expected[::-1].argmax(axis=0)
    early = view.session_index[end] - view.session_index[last]
    columns = np.flatnonzero(early >= EARLY_END_SESSIONS)
    return _column_hits(view, columns, last[columns], early[columns], "{} sessions before the set")


def find_low_coverage(view: MarketView) -> pl.DataFrame:
    """Symbols that have too few of the bars they should have."""
    expected = np.maximum(view.expected.sum(axis=0), 1)
    present = (view.present & view.expected).sum(axis=0)
    columns = np.flatnonzero(present < LOW_COVERAGE_FRAC * expected)
    hits = pl.DataFrame(
        {"symbol": view.names(columns), "p": present[columns], "e": expected[columns]}
    )
    return hits.select(
        "symbol", at=pl.lit(None, UTC_TIME), example=pl.format("{} of {} bars", "p", "e")
    )


def find_thin_cross_sections(view: MarketView) -> pl.DataFrame:
    """Times at which too few of the living symbols have a bar."""
    alive = (view.lifetime & view.expected).sum(axis=1)
    present = view.present.sum(axis=1)
    has_session = _spread(_any_in_session(view.present, view)[:, None], view)[:, 0]
    slots = np.flatnonzero((present < THIN_CROSS_SECTION_FRAC * alive) & has_session)
    hits = pl.DataFrame({"at": view.at(slots), "p": present[slots], "a": alive[slots]})
    return hits.select(
        pl.lit(None, pl.String).alias("symbol"),
        "at",
        example=pl.format("{} of {} symbols", "p", "a"),
    )


def find_incomplete_trails(view: MarketView) -> pl.DataFrame:
    """Bars absent among the last ones, from which the next decision would be made."""
    mask = view.expected & ~view.present
    mask[: max(0, view.grid.height - view.trailing_bars)] = False
    return _bar_hits(view, mask, "no bar")


def find_overdue(view: MarketView) -> pl.DataFrame:
    """Bars that should have arrived between the set's end and the time asked about."""
    if view.overdue_bars < OVERDUE_BARS:
        return no_hits()
    return hit(f"{view.overdue_bars} bars are overdue")


_IS_AFTER_EARLY_CLOSE = pl.col("is_half_day").fill_null(False) & (
    pl.col("closed_at") > pl.col("closes_at")
)


def _any_in_session(mask: BoolArray, view: MarketView) -> BoolArray:
    """(S,) True where any symbol has a True in the session."""
    if not view.grid.height:
        return np.zeros(0, dtype=bool)
    return np.asarray(np.logical_or.reduceat(mask.any(axis=1), view.session_starts))


def _missing_sessions(view: MarketView) -> BoolArray:
    """(S, N) True where a symbol lacks a whole session that others have."""
    if not view.grid.height:
        return np.zeros((0, len(view.symbols)), dtype=bool)
    absent = np.logical_and.reduceat(view.missing, view.session_starts, axis=0)
    return np.asarray(absent & _any_in_session(view.present, view)[:, None])


def _spread(per_session: BoolArray, view: MarketView) -> BoolArray:
    """(S, N) → (T, N)."""
    return per_session[view.session_index]


def _short_sessions(view: MarketView, kind: str) -> pl.DataFrame:
    mask = view.missing & view.grid[kind].to_numpy()[:, None]
    if not mask.any():
        return no_hits()
    short = np.logical_or.reduceat(mask, view.session_starts, axis=0).sum(axis=1)
    sessions = np.flatnonzero(short)
    return _session_hits(view, sessions, f"bars missing for {short[sessions].max()} symbols")


def _session_hits(view: MarketView, sessions: np.ndarray, example: str) -> pl.DataFrame:
    slots = view.session_starts[sessions]
    hits = pl.DataFrame({"at": view.at(slots), "session": view.grid["session"].gather(slots)})
    return hits.select(
        pl.lit(None, pl.String).alias("symbol"),
        "at",
        example=pl.format("{}: " + example, "session"),
    )


def _bar_hits(view: MarketView, mask: BoolArray, example: str) -> pl.DataFrame:
    columns, slots = np.nonzero(mask.T)
    hits = pl.DataFrame({"symbol": view.names(columns), "at": view.at(slots)})
    return hits.with_columns(example=pl.lit(example))


def _column_hits(
    view: MarketView, columns: np.ndarray, slots: np.ndarray, counts: np.ndarray, template: str
) -> pl.DataFrame:
    hits = pl.DataFrame({"symbol": view.names(columns), "at": view.at(slots), "count": counts})
    return hits.select("symbol", "at", example=pl.format(template, "count"))


def _off_grid_hits(view: MarketView, kind: pl.Expr) -> pl.DataFrame:
    if not view.bars["slot"].null_count():
        return no_hits()
    just_before = pl.col("closed_at").dt.offset_by("-1us").dt.convert_time_zone(view.time_zone)
    off = view.bars.filter(pl.col("slot").is_null()).with_columns(session=just_before.dt.date())
    local = pl.col("closed_at").dt.convert_time_zone(view.time_zone).dt.to_string("%a %H:%M local")
    return (
        off.join(view.sessions, on="session", how="left", maintain_order="left")
        .filter(kind)
        .select("symbol", at=pl.col("closed_at"), example=local)
    )


CALENDAR_CHECKS: tuple[MarketCheck, ...] = (
    MarketCheck(
        "WRONG_GRID",
        "D12",
        Severity.ERROR,
        "stamps must lie on the grid of the calendar; check time zone, grid and bar start or end",
        is_fatal=True,
        find=find_wrong_grid,
    ),
    MarketCheck(
        "MARKET_GAP", "D08", Severity.WARNING, "a session must have bars", find=find_market_gaps
    ),
    MarketCheck(
        "MISSING_SESSIONS",
        "D08",
        Severity.WARNING,
        "a symbol lacks sessions",
        find=find_missing_sessions,
    ),
    MarketCheck(
        "MISSING_BARS",
        "D08",
        Severity.WARNING,
        "a symbol lacks bars inside sessions",
        find=find_missing_bars,
    ),
    MarketCheck(
        "LONG_GAP",
        "D08",
        Severity.WARNING,
        "a symbol lacks bars for a week or more",
        find=find_long_gaps,
    ),
    MarketCheck(
        "HALF_DAY_BARS", "D10", Severity.WARNING, "a half day lacks bars", find=find_short_half_days
    ),
    MarketCheck(
        "DST_DAY_BARS",
        "D09",
        Severity.WARNING,
        "the first session after a change of clocks lacks bars",
        find=find_short_dst_days,
    ),
    MarketCheck(
        "BAR_AFTER_EARLY_CLOSE",
        "D10",
        Severity.WARNING,
        "a half day has bars after its close",
        find=find_late_half_day_bars,
    ),
    MarketCheck(
        "BAR_ON_CLOSED_DAY",
        "D11",
        Severity.WARNING,
        "a bar lies on a closed day",
        find=find_closed_day_bars,
    ),
    MarketCheck(
        "BAR_OFF_GRID",
        "",
        Severity.WARNING,
        "a bar does not close on the grid",
        find=find_off_grid_bars,
    ),
    MarketCheck(
        "ENDS_EARLY",
        "D21",
        Severity.WARNING,
        "history ends early: delisted or renamed?",
        find=find_early_ends,
    ),
    MarketCheck(
        "LOW_COVERAGE",
        "D08",
        Severity.WARNING,
        "less than 95 % of the expected bars",
        find=find_low_coverage,
    ),
    MarketCheck(
        "THIN_CROSS_SECTION",
        "D08",
        Severity.WARNING,
        "less than 80 % of the symbols have a bar at a time",
        find=find_thin_cross_sections,
    ),
    MarketCheck(
        "TRAILING_INCOMPLETE",
        "D08",
        Severity.WARNING,
        "the trailing bars must be complete",
        find=find_incomplete_trails,
    ),
    MarketCheck(
        "BARS_OVERDUE", "D20", Severity.WARNING, "the last bars are old", find=find_overdue
    ),
    MarketCheck(
        "STARTS_LATE",
        "",
        Severity.INFO,
        "history starts late: listed later?",
        find=find_late_starts,
    ),
)
