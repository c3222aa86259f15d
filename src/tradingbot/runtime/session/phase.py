"""What the process of a session is at, for others to see: it warms up, waits for a bar, or trades.

A file beside the journal says so, and its time on disk is the last sign of life of the process. It
is no record: nothing is decided by it, and where it is missing, damaged or of another program it
says nothing. It names the lock that its process took, so that no clock must tell whose it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.folder import SessionFolder

_FILE = "phase.json"
_STEPS = 50
"""How often a warm-up is told, from its first bar to its last."""
_BEAT_S = 1.0
"""How often a process gives a sign of life, and how often progress is told, at least."""
STARTING, WARMING_UP, WAITING, TRADING = "starting", "warming up", "waiting", "trading"
CATCHING_UP, VENUE_AWAY = "catching up", "waiting for its venue"
NOT_RUNNING, UNKNOWN = "not running", "unknown"
_PATIENCE_S = {STARTING: 120.0, WARMING_UP: 120.0, CATCHING_UP: 60.0}
"""Without anything new, until a process that has not come to the present bar has stalled."""


@dataclass(frozen=True)
class Phase:
    """What a process was at when it last told, and when; times are those of the wall."""

    name: str
    n_bars: str | None = None
    """Bars that were streamed, of how many; None where none are."""
    next_bar_at: datetime | None = None
    told_at: datetime | None = None
    """When it last came to something new; of one that starts: when it began."""
    beat_at: datetime | None = None
    """Its last sign of life; None where it never gave one."""

    def silent_since(self, now: datetime) -> datetime | None:
        """Return since when a process that starts or catches up should have come on.

        None where it does neither, or waits for a bar that did not close yet.
        """
        if self.name not in _PATIENCE_S or self.told_at is None:
            return None
        if self.name != WARMING_UP or self.next_bar_at is None:
            return self.told_at
        return None if self.next_bar_at > now else max(self.told_at, self.next_bar_at)

    def catches_up(self, now: datetime) -> bool:
        """Tell whether it starts or takes bars of before, and comes on.

        A time far ahead is of a clock that was set back since, and no sign that it comes on.
        """
        since = self.silent_since(now)
        return since is not None and distance_s(since, now) <= _PATIENCE_S[self.name]


class PhaseBoard:
    """Tells what one session is at, as it goes on."""

    def __init__(
        self,
        folder: SessionFolder,
        hours: ExchangeHours,
        *,
        first_bar: int,
        waits: bool,
        is_live: bool = False,
        now: Callable[[], datetime],
    ) -> None:
        """Say that it begins.

        Args:
            folder: Of the session.
            hours: Tell when the next bar closes.
            first_bar: Number of the bar of the first decision.
            waits: Whether bars come in their time; else one after another.
            is_live: Whether bars close at the time of day, so that one may be late.
            now: Time of day.
        """
        self._path, self._hours = folder.path / _FILE, hours
        self._first_bar, self._waits, self._now = first_bar, waits, now
        self._is_live, self._is_held = is_live, False
        self._lock = _stamp_of(folder.lock)
        self._told: dict[str, Any] = {}
        self._told_at = self._beat_at = now()
        self._tell(STARTING)

    def take(self, bar: MarketBar) -> None:
        """Tell of a bar that was taken."""
        self._is_held = False
        self._take(bar, self._first_bar, self._first_bar + 1)  # with the one that is decided on

    def stream(self, bars: Iterator[MarketBar], n_bars: int) -> Iterator[MarketBar]:
        """Tell of bars that are streamed again, so many at most, before the session goes on."""
        for bar in bars:
            if self._is_held:
                self.beat()
            else:
                self._take(bar, n_bars, n_bars, CATCHING_UP)
            yield bar

    def wait_for_venue(self) -> None:
        """Tell that the venue does not answer; bars that are streamed meanwhile are no progress."""
        self._is_held = True
        self._tell(VENUE_AWAY)

    def beat(self) -> None:
        """Give a sign of life, once a second at most; what was told is dated by this clock."""
        now = self._now()
        if now < self._told_at:  # the clock was set back: it is not told in what is to come
            self._beat_at = now
            self._write(now)
        elif distance_s(self._beat_at, now) >= _BEAT_S:
            self._beat_at = now
            with suppress(OSError):
                os.utime(self._path)

    def end(self) -> None:
        """Give the last sign of life."""
        with suppress(OSError):
            os.utime(self._path)

    def _take(self, bar: MarketBar, until: int, of_bars: int, streaming: str = WARMING_UP) -> None:
        self.beat()
        n_bars, at = bar.number + 1, self._next_close(bar.closed_at) if self._waits else None
        now = self._now()
        is_late = self._is_live and at is not None and at <= now  # bars closed while it was away
        if n_bars < until:
            is_due = at is not None and at > now  # nothing more is told until then
            is_time = distance_s(self._told_at, now) >= _BEAT_S
            if is_due or is_time or n_bars % max(1, of_bars // _STEPS) == 0:
                self._tell(streaming, n_bars, of_bars, at)
        elif is_late:
            self._tell(CATCHING_UP, at=at)
        else:
            self._tell(TRADING if at is None else WAITING, at=at)

    def _next_close(self, after: datetime) -> datetime | None:
        with suppress(DataError):  # the calendar does not reach so far
            return self._hours.next_close(after)
        return None

    def _tell(
        self, phase: str, n_bars: int | None = None, of: int | None = None, at: Any = None
    ) -> None:
        told = {
            "phase": phase,
            "warm_up": None if n_bars is None else f"{n_bars} of {of} bars",
            "next_bar_at": None if at is None else at.isoformat(),
        }
        if told != self._told:
            self._told = told
            self._write(self._now())

    def _write(self, now: datetime) -> None:
        self._told_at = now
        dated = {**self._told, "told_at": now.isoformat(), "lock": self._lock}
        with suppress(StorageError):  # a full disk is the journal's to tell of
            write_text(self._path, json.dumps(dated))


class ToldBars:
    """Bars of a session, told of where they are streamed again: after a restart, for a swap."""

    def __init__(self, feed: BarFeed, board: PhaseBoard) -> None:
        self._feed, self._board = feed, board

    @property
    def symbols(self) -> tuple[str, ...]:
        """M names."""
        return self._feed.symbols

    @property
    def time_zone(self) -> str:
        """IANA name of the exchange's zone."""
        return self._feed.time_zone

    @property
    def problem(self) -> str | None:
        """Why the next bars cannot be asked for at present."""
        return self._feed.problem

    def bars(self, after: int = -1) -> Iterator[MarketBar | None]:
        """Yield every bar whose number is larger."""
        return self._feed.bars(after)

    def known_bars(self, last: int) -> Iterator[MarketBar]:
        """Yield bars up to a number, and tell of each."""
        return self._board.stream(self._feed.known_bars(last), last + 1)


def look_at_phase(folder: SessionFolder, *, began_at: datetime | None = None) -> Phase:
    """Return what the process of a session is at, and when it last gave a sign of life.

    A process that has only just taken the lock has told nothing yet: it starts. One that journaled
    since, or whose words are not ours, is of a program that tells in another way, or not at all.

    Args:
        folder: Of the session.
        began_at: When its journal last says that a process began; None where that is not known.
    """
    path = folder.path / _FILE
    beat_at, locked_at = _time_of(path), _time_of(folder.lock)
    if not folder.is_running:
        return Phase(NOT_RUNNING, beat_at=beat_at)
    starting = Phase(STARTING, told_at=None if beat_at is None else locked_at, beat_at=beat_at)
    if began_at is not None and locked_at is not None and began_at >= locked_at:
        starting = Phase(UNKNOWN, beat_at=beat_at)
    try:
        found = json.loads(path.read_text("utf-8"))
        lock = found.get("lock")
        if lock is None:  # told by an older program, of this process or of one before
            is_before = beat_at is None or locked_at is None or beat_at < locked_at
        else:
            is_before = lock != _stamp_of(folder.lock)
        if is_before:
            return starting
        if found["phase"] == STARTING and lock is not None:
            return Phase(STARTING, told_at=locked_at, beat_at=beat_at)
        told_at, bar_at = found["told_at"], found["next_bar_at"]
        return Phase(
            str(found["phase"]),
            found["warm_up"],
            None if bar_at is None else datetime.fromisoformat(bar_at),
            datetime.fromisoformat(told_at),
            beat_at,
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        is_before = beat_at is None or locked_at is None or beat_at < locked_at
        return starting if is_before else Phase(UNKNOWN, beat_at=beat_at)


def read_phase(folder: SessionFolder, *, began_at: datetime | None = None) -> dict[str, Any]:
    """Return what the process of a session is at, as plain values."""
    found = look_at_phase(folder, began_at=began_at)
    at = found.next_bar_at
    return {
        "phase": found.name,
        "warm_up": found.n_bars,
        "next_bar_at": None if at is None else at.isoformat(),
    }


def distance_s(one: datetime, other: datetime) -> float:
    """Return the seconds between two times, whichever is later: a clock may have been set back."""
    return abs((other - one).total_seconds())


def _time_of(path: Path) -> datetime | None:
    with suppress(OSError):
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return None


def _stamp_of(path: Path) -> int | None:
    """Return the time on disk of a file, to be compared with itself alone."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return None
