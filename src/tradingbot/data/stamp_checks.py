"""Are stamps what the user says they are? A wrong answer would show bars before they were known.

Taking hourly bars for quarter-hourly ones, opening stamps for closing ones, or Chicago's clock for
New York's moves bars into the past: a look-ahead that no rule about prices could see.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import polars as pl

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.schema import UTC_TIME
from tradingbot.domain.errors import DataError
from tradingbot.domain.timeframe import Timeframe

_MIN_STEPS = 3
# Bars that close the moment a session opens: more of them than this are no accident.
_OPENINGS = 5
_OPENINGS_FRAC = 0.02
# Sessions of so many bars, of which so few have one at their end: the last bar is never there.
FULL_SESSION_BARS = 3
MIN_SESSIONS = 20
# So few full sessions say which end their stamps mark, where most of them agree.
_FEWEST_SESSIONS = 2
EDGE_BARS_FRAC = 0.1
# Stamps at so many hours of the day, or so often on closed days, come from no exchange.
_CLOCK_HOURS = 22
_CLOSED_DAYS_FRAC = 0.1
_AROUND_THE_CLOCK = (
    "They lie around the clock: say --calendar 24/7 for crypto and whatever else never closes"
)


def require_spacing(
    stamps: pl.Series, symbols: pl.Series, timeframe: Timeframe, *, where: str
) -> None:
    """Refuse bars whose usual distance is not the length they are said to have.

    Args:
        stamps: UTC times in the file's order, opens or closes.
        symbols: One for each stamp.
        timeframe: The length the user says the bars have.
        where: Names the file in errors.

    Raises:
        DataError: If the most frequent step of a symbol from bar to bar is another.
    """
    rows = pl.DataFrame({"at": stamps, "symbol": symbols}).drop_nulls().sort("symbol", "at")
    steps = rows.select(pl.col("at").diff().over("symbol")).to_series().drop_nulls()
    steps = steps.filter(steps > timedelta(0))
    if len(steps) < _MIN_STEPS:
        return
    usual = steps.mode().min()
    # Sessions lie a day apart, give or take the hour of a clock change.
    slack = timedelta(hours=1) if timeframe.is_daily else timedelta(0)
    assert isinstance(usual, timedelta)
    if abs(usual - timeframe.duration) > slack:
        rule = f"bars must be {timeframe} apart"
        remedy = "Say how long the bars are with --timeframe"
        raise DataError(rule, was=f"mostly {usual} apart", where=where, remedy=remedy)


def require_closings(
    closed_at: pl.Series,
    symbols: pl.Series,
    calendar: TradingCalendar,
    *,
    is_computed: bool,
    where: str,
) -> None:
    """Refuse closes that fall on openings of sessions, or declared closes that never end one.

    Args:
        closed_at: UTC times in the file's order.
        symbols: One for each close.
        calendar: Whose sessions they belong to.
        is_computed: True where the closes were computed from opening stamps.
        where: Names the file in errors.

    Raises:
        DataError: Naming the symbol and the likely cause.
    """
    counts = count_session_edges(closed_at, symbols, calendar.sessions())
    early = counts.filter(is_early())
    if early.height:
        symbol, first, hits, sessions = early.select(
            "symbol", "first_opening", "openings", "sessions"
        ).row(0)
        raise DataError(
            "a bar must not close when its session opens",
            was=f"{symbol} in {hits} of {sessions} sessions, first {first:%Y-%m-%d %H:%M}Z",
            where=where,
            remedy=_remedy_for_early(closed_at, calendar, is_computed=is_computed),
        )
    endless = counts.filter(is_endless())
    if endless.height and not is_computed:
        symbol, ends, sessions = endless.select("symbol", "closings", "full_sessions").row(0)
        raise DataError(
            "sessions must have a bar that closes at their end",
            was=f"{symbol} in {ends} of {sessions} sessions",
            where=where,
            remedy="If stamps mark the bars' openings, say --stamps open; else check --time-zone",
        )


def require_starts(
    stamps: pl.Series, symbols: pl.Series, calendar: TradingCalendar, *, where: str
) -> None:
    """Refuse opening stamps that lie where sessions end, and hardly ever where they begin.

    So look closes that are taken for openings: every bar would be known one bar too late, and one
    of each session would lie beyond its end.

    Raises:
        DataError: Naming the first such symbol.
    """
    counts = count_session_edges(stamps, symbols, calendar.sessions())
    full, ends = pl.col("full_sessions"), pl.col("closings")
    late = counts.filter(
        (full >= _FEWEST_SESSIONS)
        & (2 * ends > full)
        & (pl.col("openings") < EDGE_BARS_FRAC * pl.col("sessions"))
    )
    if late.height:
        symbol, hits, sessions = late.select("symbol", "closings", "full_sessions").row(0)
        raise DataError(
            "a bar must not open when its session closes",
            was=f"{symbol} in {hits} of {sessions} sessions, and hardly ever at its opening",
            where=where,
            remedy=remedy_around_the_clock(stamps, calendar)
            or "They mark the bars' closes: say --stamps close; or check --time-zone",
        )


def require_no_openings(
    stamps: pl.Series,
    symbols: pl.Series,
    calendar: TradingCalendar,
    timeframe: Timeframe,
    *,
    where: str,
) -> None:
    """Refuse closing stamps around the clock that look like whole days of openings.

    Where one session's end is the next one's start no single stamp can tell an opening from a
    close; from 00:00 to one bar before midnight is what a file of openings looks like.

    Raises:
        DataError: Naming the first such symbol.
    """
    opens, closes = (set(calendar.sessions()[name]) for name in ("opens_at", "closes_at"))
    if timeframe.is_daily or not opens & closes:
        return
    spans = (
        pl.DataFrame({"symbol": symbols, "at": stamps})
        .group_by("symbol", maintain_order=True)
        .agg(first=pl.col("at").min(), last=pl.col("at").max())
    )
    for symbol, first, last in spans.iter_rows():
        if first in opens and last + timeframe.duration in closes:
            raise DataError(
                "closing stamps must not run from a day's opening to the last bar's opening",
                was=f"{symbol} from {first:%Y-%m-%d %H:%M}Z to {last:%Y-%m-%d %H:%M}Z",
                where=where,
                remedy="Say --stamps open; if they are closes, cut the file so that it does not "
                "look like whole days of openings",
            )


def count_session_edges(
    closed_at: pl.Series, symbols: pl.Series, sessions: pl.DataFrame
) -> pl.DataFrame:
    """Count per symbol in how many sessions a bar closes at the opening and at the end.

    Sessions that touch another, as in 24/7 trading, are left out: there an opening is a close too.

    Args:
        closed_at: UTC times.
        symbols: One for each close.
        sessions: With `opens_at` and `closes_at`; see `TradingCalendar.sessions`.

    Returns:
        `symbol`, `sessions` (with any bar), `openings` (with a bar at the opening),
        `first_opening`, `full_sessions` (with three bars or more), `closings` (of the full ones,
        with a bar at the end); in order of appearance.
    """
    opens, closes = sessions["opens_at"], sessions["closes_at"]
    apart = sessions.filter(~opens.is_in(closes.implode()), ~closes.is_in(opens.implode()))
    starts, ends = (apart[name].to_physical().to_numpy() for name in ("opens_at", "closes_at"))
    rows = pl.DataFrame({"symbol": symbols, "at": closed_at}).drop_nulls()
    at = rows["at"].cast(UTC_TIME).to_physical().to_numpy()
    number = np.searchsorted(starts, at, side="right") - 1
    inside = number >= 0
    inside[inside] &= at[inside] <= ends[number[inside]]
    known = rows.filter(pl.Series(inside, dtype=pl.Boolean)).with_columns(
        session=pl.Series(number[inside]),
        is_opening=pl.Series(at[inside] == starts[number[inside]]),
        is_closing=pl.Series(at[inside] == ends[number[inside]]),
    )
    per_session = known.group_by("symbol", "session", maintain_order=True).agg(
        is_full=(~pl.col("is_opening")).sum() >= FULL_SESSION_BARS,
        is_opening=pl.col("is_opening").any(),
        is_closing=pl.col("is_closing").any(),
        opening=pl.col("at").min(),
    )
    return per_session.group_by("symbol", maintain_order=True).agg(
        sessions=pl.len(),
        openings=pl.col("is_opening").sum(),
        first_opening=pl.col("opening").filter("is_opening").min(),
        full_sessions=pl.col("is_full").sum(),
        closings=(pl.col("is_full") & pl.col("is_closing")).sum(),
    )


def is_early() -> pl.Expr:
    """True where a row of `count_session_edges` has too many openings to be an accident."""
    many = (pl.col("openings") > _OPENINGS) | (2 * pl.col("openings") > pl.col("sessions"))
    return many & (pl.col("openings") > _OPENINGS_FRAC * pl.col("sessions"))


def is_endless() -> pl.Expr:
    """True where a row of `count_session_edges` has enough sessions, and hardly one that ends."""
    full = pl.col("full_sessions")
    return (full >= MIN_SESSIONS) & (pl.col("closings") < EDGE_BARS_FRAC * full)


def remedy_around_the_clock(stamps: pl.Series, calendar: TradingCalendar) -> str | None:
    """Advice for stamps at all hours or on closed days of an exchange; None for others."""
    days = stamps.dt.convert_time_zone(calendar.time_zone).dt.date()
    on_closed_days = (~days.is_in(calendar.sessions()["session"].implode())).sum()
    hours = stamps.dt.hour().n_unique()
    is_clock = hours >= _CLOCK_HOURS or on_closed_days > _CLOSED_DAYS_FRAC * len(days)
    return _AROUND_THE_CLOCK if is_clock else None


def _remedy_for_early(stamps: pl.Series, calendar: TradingCalendar, *, is_computed: bool) -> str:
    around = remedy_around_the_clock(stamps, calendar)
    if around is not None:
        return around
    if not is_computed:
        return "They mark the bars' openings: say --stamps open; or check --time-zone"
    return (
        "The stamps are early: check --time-zone (a fixed offset is an hour off for half of the "
        "year) and --stamps, or cut the bars before the opening"
    )
