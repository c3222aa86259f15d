"""The answer in ten seconds: sleep, have a look, or act; with the reasons, the strongest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from tradingbot.domain.counts import write_count
from tradingbot.domain.events.session import AlertLevel
from tradingbot.evaluation.report.numbers import percent
from tradingbot.monitoring.dashboard.expectation import Expectation
from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

Word = Literal["Sleep well", "Have a look", "Act now", "Nothing runs"]
TONES: dict[Word, str] = {
    "Sleep well": "good",
    "Have a look": "amber",
    "Act now": "warm",
    "Nothing runs": "soft",
}
NEAR_FRAC = 0.7
"""Share of a limit from which on it is worth a look."""
ALERT_AGE = timedelta(hours=24)
"""Alerts older than that are history, by the clock of their session."""


@dataclass(frozen=True)
class Outlook:
    """The answer and what it rests on."""

    word: Word
    headline: str
    reasons: tuple[str, ...]

    @property
    def tone(self) -> str:
        """Colour of the word."""
        return TONES[self.word]


def judge_outlook(
    sessions: Sequence[SessionView],
    expected: dict[str, Expectation],
    zone: Zone,
    *,
    alarms: Sequence[str] = (),
) -> Outlook:
    """Judge all sessions together.

    Args:
        sessions: Of the workspace.
        expected: Session → what the backtest of its run leads one to expect.
        zone: Of the times.
        alarms: Critical alerts that were not acknowledged yet, in words.
    """
    act, look = list(alarms), list[str]()
    for each in sessions:
        act += _urgent(each, zone)
        look += _notable(each, expected.get(each.name), zone)
    running = [each.name for each in sessions if _is_running(each)]
    if act:
        return Outlook("Act now", _headline(running, "something stopped or tripped"), (*act, *look))
    if look:
        any_tripped = any(each.tripped for each in sessions)
        rest = "what tripped has stopped" if any_tripped else "nothing has tripped"
        return Outlook("Have a look", _headline(running, rest), tuple(look))
    if not running:
        verb = "is" if len(sessions) == 1 else "are"
        there = f"{write_count(len(sessions), 'session')} {verb} on record"
        names = there if sessions else "no session was started"
        return Outlook("Nothing runs", f"No session trades now; {names}.", ())
    return Outlook("Sleep well", _headline(running, "every limit is far, every source speaks"), ())


def _is_running(session: SessionView) -> bool:
    return session.freshness.state not in ("stopped", "ended")


def _urgent(session: SessionView, zone: Zone) -> list[str]:
    found = []
    if session.problem:
        found.append(f"{session.name}: its journal cannot be read: {session.problem}")
    elif session.freshness.state == "stale":
        since = zone.moment(session.freshness.since, seconds=True)
        found.append(f"{session.name}: stale since {since}: {session.freshness.why}")
    if not _is_running(session):
        return found
    found += [f"{session.name}: {name} tripped" for name in session.tripped]
    if session.trading_state == "halted" and not session.tripped:
        found.append(f"{session.name}: halted, nothing may be sent")
    return found + _alerts(session, AlertLevel.CRITICAL, zone)


def _notable(session: SessionView, expected: Expectation | None, zone: Zone) -> list[str]:
    found = []
    if session.freshness.state == "stopped":
        since = zone.moment(session.freshness.since, seconds=True)
        tripped = "".join(f", {name} tripped" for name in session.tripped)
        found.append(f"{session.name}: stopped before its end, since {since}{tripped}")
    if not _is_running(session):
        return found
    if session.freshness.state == "catching up":
        found.append(f"{session.name}: catching up: {session.freshness.why}")
    near = [b for b in session.breakers if not b.is_tripped and b.used_frac >= NEAR_FRAC]
    found += [
        f"{session.name}: {b.name} has used {percent(b.used_frac, 0)} of its limit" for b in near
    ]
    if session.trading_state == "reducing" and not session.tripped:
        found.append(f"{session.name}: only reduces positions")
    equity = session.equity
    if expected is not None and len(equity) > 1:
        first, last = float(equity.equity_ccy[0]), float(equity.equity_ccy[-1])
        if expected.is_below(first, last, len(equity) - 1):
            found.append(f"{session.name}: equity is below 95 % of what its backtest allows")
    return found + _alerts(session, AlertLevel.WARNING, zone)


def _alerts(session: SessionView, level: AlertLevel, zone: Zone) -> list[str]:
    """Return alerts of a level of the last day, one line for each code."""
    moments = [each.at for each in session.alerts]
    if session.state is not None:
        moments.append(session.state.at)
    newest = max(moments, default=None)
    if newest is None:
        return []
    recent = [
        each for each in session.alerts if each.level is level and newest - each.at <= ALERT_AGE
    ]
    first = {each.code: each for each in reversed(recent)}
    return [
        f"{session.name}: {code}, {each.text} ({zone.moment(each.at)})"
        for code, each in first.items()
    ]


def _headline(running: Sequence[str], rest: str) -> str:
    n_running = len(running)
    if not n_running:
        return f"No session trades now: {rest}."
    who = running[0] if n_running == 1 else f"{n_running} sessions"
    return f"{who} {'trades' if n_running == 1 else 'trade'}: {rest}."
