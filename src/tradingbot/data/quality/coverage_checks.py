"""Rules about how much history there is: where it starts and ends, how full it is, how fresh."""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.calendar_checks import absent_bars, any_in_session, spread
from tradingbot.data.quality.check import describe, hit, no_hits
from tradingbot.data.quality.view import QualityView

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
    has_session = spread(any_in_session(view.present, view)[:, None], view)[:, 0]
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
