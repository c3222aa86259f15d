"""What the process of a session is at, for others to see: it warms up, waits for a bar, or trades.

A file beside the journal says so. It is no record: nothing is decided by it, and where it is
missing or damaged it says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.folder import SessionFolder

_FILE = "phase.json"
_STEPS = 50
"""How often a warm-up is told, from its first bar to its last."""
STARTING, WARMING_UP, WAITING, TRADING = "starting", "warming up", "waiting", "trading"
NOT_RUNNING = "not running"


class PhaseBoard:
    """Tells what one session is at, as it goes on."""

    def __init__(
        self,
        folder: SessionFolder,
        hours: ExchangeHours,
        *,
        first_bar: int,
        waits: bool,
        now: Callable[[], datetime],
    ) -> None:
        """Say that it begins.

        Args:
            folder: Of the session.
            hours: Tell when the next bar closes.
            first_bar: Number of the bar of the first decision.
            waits: Whether bars come in their time; else one after another.
            now: Time of day.
        """
        self._path, self._hours = folder.path / _FILE, hours
        self._first_bar, self._waits, self._now = first_bar, waits, now
        self._told: dict[str, Any] = {}
        self._tell(STARTING)

    def take(self, bar: MarketBar) -> None:
        """Tell of a bar that was taken."""
        self._take(bar, self._first_bar, self._first_bar + 1)  # with the one that is decided on

    def stream(self, bars: Iterator[MarketBar], n_bars: int) -> Iterator[MarketBar]:
        """Tell of bars that are streamed again, so many at most, before the session goes on."""
        for bar in bars:
            self._take(bar, n_bars, n_bars)
            yield bar

    def _take(self, bar: MarketBar, until: int, of_bars: int) -> None:
        n_bars, at = bar.number + 1, self._next_close(bar.closed_at) if self._waits else None
        if n_bars < until:
            is_due = at is not None and at > self._now()  # nothing more is told until then
            if is_due or n_bars % max(1, of_bars // _STEPS) == 0:
                self._tell(WARMING_UP, n_bars, of_bars, at)
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
            with suppress(StorageError):  # a full disk is the journal's to tell of
                write_text(self._path, json.dumps(told))


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


def read_phase(folder: SessionFolder) -> dict[str, Any]:
    """Return what the process of a session is at."""
    told = {"phase": NOT_RUNNING, "warm_up": None, "next_bar_at": None}
    if not folder.is_running:
        return told
    try:
        found = json.loads((folder.path / _FILE).read_text("utf-8"))
        return {name: found[name] for name in told}
    except (OSError, ValueError, TypeError, LookupError):
        return {**told, "phase": STARTING}
