"""Whether a source still speaks: live, silent beyond what is due, or ended; and since when."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Literal

from tradingbot.domain.errors import UserError
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.monitoring.dashboard.sources.session_place import WatchedTerms
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.phase import NOT_RUNNING, STARTING, Phase, distance_s

Liveness = Literal["live", "waiting", "stale", "stopped", "ended", "unknown", "catching up"]
GRACE_S = 120.0
"""After the close of a live bar, until it should have been traded."""
REPLAY_GRACE_S = 10.0
"""After the next bar of a replay was due by its speed, until it counts as stale."""
_UNTOLD = Phase(NOT_RUNNING)


@dataclass(frozen=True)
class Freshness:
    """How fresh a source is."""

    state: Liveness
    since: datetime | None = None
    """When it was last heard; of `stale`: since when it should have spoken."""
    why: str = ""
    """In words, e.g. what it waits for."""

    @property
    def is_speaking(self) -> bool:
        """Whether its numbers are of now."""
        return self.state in ("live", "waiting", "catching up")


@dataclass(frozen=True)
class Heard:
    """What is known of a session when its freshness is judged."""

    now: datetime
    at: datetime | None
    """When its journal last said something new, by the wall."""
    bar: datetime | None
    """Close of the last bar that it settled."""
    n_bars: int
    """Bars that it settled."""
    is_running: bool | None
    phase: Phase = _UNTOLD
    """What its process said that it is at."""


def judge_session(heard: Heard, terms: WatchedTerms | None) -> Freshness:
    """Tell how fresh a session's numbers are.

    A live one must have settled every bar that closed two minutes ago or earlier by the exchange's
    calendar; a replay must have said something ten seconds after its next bar was due by its speed.
    One that starts, or takes bars of before again, is behind and not stale as long as it comes on.
    No time is told that is to come, as one of a clock that was set back since would be.
    """
    return heard_by(_judge(heard, terms), heard.now)


def heard_by(found: Freshness, now: datetime) -> Freshness:
    """Return a freshness whose time is not to come: nothing was heard later than now."""
    if found.since is None or found.since <= now:
        return found
    return replace(found, since=now)


def _judge(heard: Heard, terms: WatchedTerms | None) -> Freshness:
    if terms is None or heard.is_running is None:
        return Freshness("unknown", heard.at, "only its journal is known here")
    if not heard.is_running:
        whole = terms.n_bars is not None and heard.n_bars >= terms.n_bars - 1
        why = "every bar was traded" if whole else "no process trades it"
        return Freshness("ended" if whole else "stopped", heard.phase.beat_at or heard.at, why)
    if (behind := _judge_behind(heard.now, heard.phase)) is not None:
        return behind
    if heard.bar is None:
        return Freshness("waiting", heard.at, "no bar was settled yet")
    if terms.is_replay:
        return _judge_replay(heard, heard.bar, terms)
    return _judge_live(heard, heard.bar, terms)


def _judge_behind(now: datetime, phase: Phase) -> Freshness | None:
    """Tell whether a process that starts or catches up comes on; None where it does neither."""
    since = phase.silent_since(now)
    if since is None:
        return None
    if not phase.catches_up(now):
        return Freshness("stale", since, f"it is {phase.name}, and nothing came of it since")
    why = "its process starts" if phase.name == STARTING else "bars of before are taken"
    if phase.n_bars is not None:
        why += f", {phase.n_bars}"
    return Freshness("catching up", phase.told_at, why)


def judge_file(
    now: datetime, written_at: datetime | None, *, is_running: bool, due_s: float
) -> Freshness:
    """Tell how fresh what a process appends to a file is.

    Args:
        now: Now.
        written_at: When it last grew.
        is_running: Whether the process lives.
        due_s: Seconds within which something new is due.
    """
    if not is_running:
        return Freshness("ended", written_at)
    if written_at is None:
        return Freshness("waiting", None, "nothing was written yet")
    is_late = distance_s(written_at, now) > due_s
    return Freshness("stale" if is_late else "live", min(written_at, now))


def _judge_replay(heard: Heard, bar: datetime, terms: WatchedTerms) -> Freshness:
    """Nights between bars take their time too, at the speed of the replay.

    One that caught up has only just come to its next bar, whenever it wrote last.
    """
    gap_s = 0.0
    if terms.speed:
        gap = Timeframe.parse(terms.timeframe).duration
        with suppress(UserError):
            hours = _hours(terms.calendar, terms.timeframe, terms.grid, bar.date())
            gap = hours.next_close(bar) - bar
        gap_s = gap.total_seconds() / terms.speed
    silence_s = gap_s + REPLAY_GRACE_S
    said = [each for each in (heard.at, heard.phase.told_at) if each is not None]
    at = min(said, default=None, key=lambda each: distance_s(each, heard.now))
    if at is not None and distance_s(at, heard.now) > silence_s:
        return Freshness("stale", at, f"nothing for more than {silence_s:.0f} s")
    return Freshness("live", at)


def _judge_live(heard: Heard, bar: datetime, terms: WatchedTerms) -> Freshness:
    hours = _hours(terms.calendar, terms.timeframe, terms.grid, heard.now.date())
    try:
        due = hours.next_close(bar)
    except UserError:
        return Freshness("stale", bar, "the calendar knows no bar after its last one")
    if bar > heard.now + timedelta(seconds=GRACE_S):
        return Freshness("stale", heard.now, "its last bar closed ahead of this clock")
    if heard.now > due + timedelta(seconds=GRACE_S):
        return Freshness("stale", due, "a bar closed and was not settled")
    is_open = hours.clock(heard.now).is_open
    why = "" if is_open else "the market is closed"
    return Freshness("live" if is_open else "waiting", heard.at, why)


@lru_cache(maxsize=64)
def _hours(calendar: str, timeframe: str, grid: str, day: date) -> ExchangeHours:
    return ExchangeHours(calendar, timeframe, BarGrid(grid), day - timedelta(days=30), day)
