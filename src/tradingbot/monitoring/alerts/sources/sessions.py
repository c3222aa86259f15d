"""Sessions of a workspace: what their journals, buffers, locks and calendars say."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import UserError
from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.domain.plain_values import read_record
from tradingbot.domain.trading_state import TradingState
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.sources.session_facts import (
    KINDS,
    JournaledSession,
    answer_since,
    fold,
)
from tradingbot.monitoring.alerts.sources.source import SourceReading, describe_problem
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.breaker import BreakerState, list_tripped, permitted_state
from tradingbot.runtime.journal.buffer import BatchBuffer
from tradingbot.runtime.journal.journal import MAX_BUFFERED_EVENTS
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.breaker_record import recall_breakers
from tradingbot.runtime.session.folder import SessionFolder, list_sessions
from tradingbot.runtime.session.phase import STARTING, look_at_phase

_REPLAY = "replay"
_FAR = timedelta(days=14)


class SessionsSource:
    """Measures every session of a workspace."""

    metrics = (
        *("drawdown_frac", "breakers_tripped", "streams_down", "positions_drifted"),
        *("critical_events", "decisions_not_finite", "data_age_s", "journal_full_frac"),
        "session_dead",
    )

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._watched: dict[Path, WatchedSession] = {}

    def measure(self, now: datetime) -> SourceReading:
        """Read what every session wrote since; one that cannot be read hides no other."""
        samples: list[MetricSample] = []
        problems: dict[str, str] = {}
        for folder in list_sessions(self._workspace):
            watched = self._watched.setdefault(folder.path, WatchedSession(folder))
            try:
                samples += watched.measure(now)
            except (UserError, OSError, ValueError, KeyError) as e:
                problems[watched.subject] = describe_problem(e)
                watched.close()
        return SourceReading(tuple(samples), problems)

    def close(self) -> None:
        """Give the journals back."""
        for watched in self._watched.values():
            watched.close()


class WatchedSession:
    """One session, and how far its journal was read."""

    def __init__(self, folder: SessionFolder) -> None:
        self.folder, self.subject = folder, f"session {folder.name}"
        self._reader: JournalReader | None = None
        self._seq = 0
        self._known = JournaledSession()
        self._state: SessionStateSaved | None = None
        self._breakers: BreakerState | None = None
        self._buffered: tuple[tuple[int, int], int] = ((0, 0), 0)
        self._due: tuple[datetime, datetime] | None = None
        """Close of a bar, and when the next one is due."""
        self._starts_since: datetime | None = None
        """Since when it starts, again and again where its process dies of it."""

    def measure(self, now: datetime) -> list[MetricSample]:
        """Return what is known of it now; of one that was stopped only what waits on disk."""
        is_running = self.folder.is_running
        samples = [self._journal_full()]
        if not self.folder.has_journal:
            return samples
        self._read()
        known, is_live = self._known, self._settings["bars"] != _REPLAY
        is_dead = is_live and not is_running and known.started_at is not None
        is_dead = is_dead and not known.is_stopped
        if not is_running and known.is_stopped:
            self._starts_since = None
        if is_live:
            told = "" if not is_dead else "it has no process"
            samples.append(self._sample("session_dead", float(is_dead), told))
        if is_running or is_dead:
            samples += self._of_journal(known)
        if is_running and is_live:
            samples.append(self._data_age(now))
        return samples

    def close(self) -> None:
        """Give the journal back; what was read is kept."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """What it was started with, as plain values: reading it as settings takes torch."""
        return dict(json.loads(self.folder.settings_path.read_text("utf-8")))

    @cached_property
    def _limits(self) -> SessionLimits:
        return read_record(SessionLimits, self._settings["session_limits"], name="session_limits")

    def _read(self) -> None:
        """Take in what the journal holds beyond what was read."""
        if self._reader is None:
            self._reader = JournalReader.at(self.folder.journal_address)
        reader, name = self._reader, self.folder.name
        head = reader.head().seq
        if head == self._seq:
            return
        self._known = fold(self._known, reader.follow(name, *KINDS, after=self._seq))
        for entry in reader.newest(name, limit=1, kind=SessionStateSaved):
            if isinstance(entry.event, SessionStateSaved):
                self._state = entry.event
                self._known = answer_since(self._known, entry.event, entry.seq)
        self._breakers = recall_breakers(reader, name, self._state)
        self._seq = head

    def _of_journal(self, known: JournaledSession) -> list[MetricSample]:
        samples = [
            self._sample("streams_down", len(known.away), known.last_text if known.away else ""),
            self._sample("positions_drifted", len(known.drifted), "; ".join(known.drifted[-3:])),
            self._sample("critical_events", len(known.critical), "; ".join(known.critical[-3:])),
            self._sample("decisions_not_finite", bool(known.not_finite), known.not_finite or ""),
        ]
        if self._breakers is not None:
            samples.append(self._tripped(self._breakers))
            if self._state is not None:
                samples.append(self._drawdown(self._breakers, self._state))
        return samples

    def _drawdown(self, breakers: BreakerState, state: SessionStateSaved) -> MetricSample:
        peak, equity = breakers.peak_ccy, state.equity_ccy
        fall = float(1 - equity / peak) if peak is not None and peak > 0 else float("nan")
        told = f"equity {equity:.2f} of {peak or 0:.2f} at {state.at.isoformat()}"
        return self._sample("drawdown_frac", fall, told)

    def _tripped(self, breakers: BreakerState) -> MetricSample:
        """Name what tripped, or that it may not trade: also before its first bar."""
        tripped = [each.value for each in list_tripped(breakers, self._limits)]
        state = self._state
        may = permitted_state(breakers, self._limits) if state is None else state.trading_state
        if not tripped and may is not TradingState.ACTIVE:
            tripped = [f"it is {may.value}"]
        return self._sample("breakers_tripped", len(tripped), ", ".join(tripped))

    def _data_age(self, now: datetime) -> MetricSample:
        """Say since when a bar is due; by the exchange's calendar, so that nights are no age."""
        last = self._known.started_at if self._state is None else self._state.at
        if last is None:
            return self._sample("data_age_s", 0.0)
        if self._due is None or self._due[0] != last:
            self._due = (last, self._next_close(last))
        phase = look_at_phase(self.folder, began_at=self._known.started_at)
        if phase.name != STARTING:
            self._starts_since = None
        elif self._starts_since is None:
            self._starts_since = phase.told_at
        if replace(phase, told_at=self._starts_since or phase.told_at).catches_up(now):
            return self._sample("data_age_s", 0.0, f"it is {phase.name}")
        if last > now:  # the clock was set back: by it no bar would be due for long
            told = f"its last bar closed at {last.isoformat()}, ahead of this clock"
            return self._sample("data_age_s", (last - now).total_seconds(), told)
        age_s = max(0.0, (now - self._due[1]).total_seconds())
        return self._sample("data_age_s", age_s, f"a bar was due at {self._due[1].isoformat()}")

    def _next_close(self, after: datetime) -> datetime:
        from tradingbot.runtime.session.clock import ExchangeHours

        told = self._settings
        terms = (told["calendar"], told["timeframe"], told["grid"])
        hours = ExchangeHours(*terms, after.date(), (after + _FAR).date())
        return hours.next_close(after)

    def _journal_full(self) -> MetricSample:
        path = self.folder.buffer
        stamp = (0, 0)
        if path.is_file():
            found = path.stat()
            stamp = (found.st_size, found.st_mtime_ns)
        if stamp[0] == 0:
            self._buffered = (stamp, 0)
        elif stamp != self._buffered[0]:
            batches = BatchBuffer(path, max_events=MAX_BUFFERED_EVENTS).batches
            self._buffered = (stamp, sum(len(each.events) for each in batches))
        count = self._buffered[1]
        told = f"{count} of {MAX_BUFFERED_EVENTS} events wait" if count else ""
        return self._sample("journal_full_frac", count / MAX_BUFFERED_EVENTS, told)

    def _sample(self, metric: str, value: float, text: str = "") -> MetricSample:
        return MetricSample(metric, self.subject, float(value), text)
