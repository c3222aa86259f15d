"""What the journal of a session says, folded entry by entry: streams, drift, answers, its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import singledispatch

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import (
    ActAudited,
    AlertLevel,
    AlertRaised,
    SessionStarted,
    SessionStateSaved,
)
from tradingbot.runtime.journal.reading import ChainEntry

KINDS: tuple[type[Event], ...] = (SessionStarted, AlertRaised, ActAudited)
"""What is read entry by entry; of states only the newest counts."""
_AWAY = {"VENUE_AWAY": ("venue", True), "VENUE_BACK": ("venue", False)}
_AWAY |= {"BARS_AWAY": ("bars", True), "BARS_BACK": ("bars", False)}
DRIFT, NOT_FINITE = "POSITION_DRIFT", "MODEL_NOT_FINITE"


@dataclass(frozen=True)
class JournaledSession:
    """A session as its journal leaves it after some entry."""

    started_at: datetime | None = None
    is_stopped: bool = False
    """Whether a person stopped it since."""
    away: frozenset[str] = frozenset()
    """Which of venue and bars cannot be asked."""
    drifted: tuple[str, ...] = ()
    """Symbols whose units differ from the venue's, and by how many."""
    critical: tuple[str, ...] = ()
    """Other critical alerts since it started."""
    not_finite: str | None = None
    """What was told of the model's last answer; None where it was a number."""
    not_finite_seq: int = 0
    last_text: str = ""


def fold(known: JournaledSession, entries: Iterable[ChainEntry]) -> JournaledSession:
    """Take entries of `KINDS` in their order."""
    for entry in entries:
        known = _take(entry.event, known, entry.seq)
    return known


def answer_since(known: JournaledSession, state: SessionStateSaved, seq: int) -> JournaledSession:
    """Forget that the model answered no number once a later state holds its actions."""
    has_decided = state.account.get("action") is not None
    if known.not_finite and has_decided and seq > known.not_finite_seq:
        return replace(known, not_finite=None)
    return known


@singledispatch
def _take(event: Event, known: JournaledSession, seq: int) -> JournaledSession:
    return known


@_take.register
def _(event: SessionStarted, known: JournaledSession, seq: int) -> JournaledSession:
    # Positions are compared with the venue's before a session starts: what differed is cleared.
    return JournaledSession(started_at=event.at)


@_take.register
def _(event: ActAudited, known: JournaledSession, seq: int) -> JournaledSession:
    if event.act == "stop":
        return replace(known, is_stopped=True)
    return replace(known, drifted=()) if event.act == "adopt" else known


@_take.register
def _(event: AlertRaised, known: JournaledSession, seq: int) -> JournaledSession:
    if event.code in _AWAY:
        what, is_away = _AWAY[event.code]
        away = known.away | {what} if is_away else known.away - {what}
        return replace(known, away=away, last_text=event.text)
    if event.code == DRIFT:
        return replace(known, drifted=(*known.drifted, f"{event.symbol} {event.text}"))
    if event.code == NOT_FINITE:
        return replace(known, not_finite=event.text, not_finite_seq=seq)
    if event.level is AlertLevel.CRITICAL:
        return replace(known, critical=(*known.critical, f"{event.code}: {event.text}"))
    return known
