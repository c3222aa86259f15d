"""The loop of a session: bar after bar until they end or a person stops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Literal

from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import BrokerUnavailableError, TradingError, UserError
from tradingbot.domain.events.session import AlertLevel, AlertRaised, ModelLoaded, SessionStarted
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.control import apply_request
from tradingbot.runtime.session.exits import give_up
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.pending_exits import ExitsDeniedError
from tradingbot.runtime.session.session import TradingSession

Ending = Literal["finished", "stopped"]
VENUE_AWAY, VENUE_BACK = "VENUE_AWAY", "VENUE_BACK"
BARS_AWAY, BARS_BACK = "BARS_AWAY", "BARS_BACK"
SETTINGS_CHANGED = "SETTINGS_CHANGED"
_IDLE_S = 1.0
_LONGEST_REST_S = 60.0


def require_positions(session: TradingSession) -> None:
    """Refuse to trade where the venue holds other units than the session booked.

    Raises:
        TradingError: Naming symbols and units.
    """
    drift = session.desk.holdings.find_drift(session.desk.broker.positions())
    if drift:
        told = ", ".join(f"{symbol} {units:+f}" for symbol, units in list(drift.items())[:5])
        raise TradingError(
            "positions must be those of the venue before a session trades",
            was=f"ours less the venue's: {told}",
            where=session.desk.session,
            remedy="Close them there, or say that they are not the session's: --adopt",
        )


def require_same_settings(session: TradingSession, folder: SessionFolder, at: datetime) -> None:
    """Refuse, and journal, settings that are not those that the session was started with.

    Limits, breakers' limits and names of those who may arm cannot be edited between a stop and a
    resume: what a breaker tripped by stays as it is.

    Raises:
        TradingError: If `session.json` was changed.
    """
    desk, found = session.desk, folder.settings_sha256()
    started = [
        each.settings_sha256
        for each in desk.journal.events(desk.session, SessionStarted)
        if isinstance(each, SessionStarted)
    ]
    if not started or started[0] == found:
        return
    words = f"{folder.settings_path.name} is {found[:12]}, and was {started[0][:12]} at the start"
    desk.record(AlertRaised(at, AlertLevel.CRITICAL, SETTINGS_CHANGED, words))
    raise TradingError(
        "settings of a session must be those that it was started with",
        was=words,
        where=folder.name,
        remedy="Restore the file; for other limits stop it and start another session",
    )


def begin(session: TradingSession, folder: SessionFolder, at: datetime, code_version: str) -> None:
    """Journal that a process trades the session from now on, and by what."""
    model, settings = session.model.sha256, folder.settings()
    started = SessionStarted(
        at, settings.broker, session.symbols, model, code_version, folder.settings_sha256()
    )
    loaded = ModelLoaded(at, model, settings.run)
    if model == settings.model_sha256:
        standing = {"standing": settings.standing} if settings.standing else {}
        loaded = ModelLoaded(at, model, settings.run, settings.verdict, standing)
    session.desk.record(started, loaded)


@dataclass(frozen=True)
class Pace:
    """How a session passes its time."""

    clock: Clock = field(default_factory=Clock)
    """Time of day, and waits."""
    is_live: bool = False
    """Whether a bar is traded on at the time of day; else its close is now."""
    wait_s: Callable[[MarketBar], float] = lambda _: 0.0
    """Seconds until a bar may be taken: none, or as many as it came after the one before."""
    told: Callable[[MarketBar], None] = lambda _: None
    """Told of every bar that was traded."""
    alive: Callable[[], None] = lambda: None
    """Called at every bar, and every second while none comes."""

    def now(self, bar: MarketBar) -> datetime:
        """Return the time of the session when it takes a bar."""
        return self.clock.now() if self.is_live else bar.closed_at


def run_session(session: TradingSession, folder: SessionFolder, pace: Pace) -> Ending:
    """Take every bar that is left, and those that come.

    Args:
        session: New, or resumed.
        folder: Whose requests are obeyed before every bar, and every second while none comes.
        pace: Time.
    """
    session.is_killed = lambda: folder.is_killed
    last, problem = -1 if session.bar is None else session.bar.number, None
    for bar in session.source.bars(after=last):
        seconds = 0.0 if bar is None else pace.wait_s(bar)
        if bar is not None and bar.number <= session.terms.first_bar:
            seconds = 0.0  # history, to warm up by
        if not _rest(session, folder, pace, seconds):
            return "stopped"
        if session.source.problem != problem:
            problem = session.source.problem
            _tell_of_bars(session, problem, pace.clock.now())
        if bar is None:
            pace.clock.sleep(_IDLE_S)
        elif not _take(session, folder, bar, pace):
            return "stopped"
        else:
            pace.told(bar)
    obey(session, folder, pace.clock.now, is_last=True)
    return "finished"


def _tell_of_bars(session: TradingSession, problem: str | None, at: datetime) -> None:
    level, code = AlertLevel.WARNING, BARS_AWAY
    if problem is None:
        level, code, problem = AlertLevel.INFO, BARS_BACK, "bars can be asked for again"
    session.desk.record(AlertRaised(at, level, code, problem))


def _take(session: TradingSession, folder: SessionFolder, bar: MarketBar, pace: Pace) -> bool:
    """Do the turn of a bar, as soon as the venue can be asked; tell whether the session goes on."""
    clock = pace.clock
    for attempt in count():
        try:
            session.take(bar, pace.now(bar))
        except BrokerUnavailableError as e:
            if attempt == 0:
                away = AlertRaised(clock.now(), AlertLevel.CRITICAL, VENUE_AWAY, str(e))
                session.desk.record(away)
            if not _rest(session, folder, pace, rest_s(attempt)):
                return False
        else:
            if attempt:
                told = f"the venue answers again after {attempt} attempts"
                session.desk.record(AlertRaised(clock.now(), AlertLevel.INFO, VENUE_BACK, told))
            return True
    raise AssertionError("unreachable")


def rest_s(attempt: int) -> float:
    """Return how long to wait after an attempt, the first of which is 0: 1 s, 2 s, … a minute."""
    return min(2.0 ** min(attempt, 6), _LONGEST_REST_S)


def _rest(session: TradingSession, folder: SessionFolder, pace: Pace, seconds: float) -> bool:
    """Wait, and obey meanwhile, once at least; tell whether the session goes on."""
    clock, left_s = pace.clock, seconds
    seen_at = clock.now()
    while obey(session, folder, clock.now):
        pace.alive()
        now = clock.now()
        left_s -= max(0.0, (now - seen_at).total_seconds())  # set back, it makes no rest longer
        seen_at = now
        if left_s <= 0.0:
            return True
        clock.sleep(min(_IDLE_S, left_s))
    return False


def obey(
    session: TradingSession,
    folder: SessionFolder,
    clock: Callable[[], datetime],
    refused: dict[Path, Exception] | None = None,
    *,
    is_last: bool = False,
) -> bool:
    """Do what persons ask; tell whether the session goes on.

    A request is dropped only once the journal holds its act; an act that is not allowed is an
    alert. A kill whose exits the gate denies is tried again, ever more rarely and at every bar,
    until they leave or an arming takes it back.

    Args:
        session: Whose persons ask.
        folder: Where requests wait.
        clock: Time of day.
        refused: Takes acts that were not allowed, by their requests, for who waits for an answer.
        is_last: Whether no bar follows: what a kill could not close by now, it never will.
    """
    goes_on, waiting = True, list[Path]()
    for path, request in folder.waiting():
        at, bar = clock(), None if session.bar is None else session.bar.number
        is_due = is_last or session.exits.is_due(path, bar, at)
        if request.act == "kill" and not is_due:
            waiting.append(path)
            continue
        try:
            # Settings that cannot be read are in the way of an arming, and of nothing else.
            authorised = frozenset(folder.authorised() if request.act == "arm" else ())
            goes_on = apply_request(session, request, at, authorised) and goes_on
        except ExitsDeniedError:
            session.exits.rest(path, bar, at, rest_s(session.exits.n_attempts))
            waiting.append(path)
            continue
        except BrokerUnavailableError:
            continue  # it is halted; what the venue must be told is told at the next attempt
        except (UserError, ValueError) as e:
            code = f"{request.act.upper()}_REFUSED"
            session.desk.record(AlertRaised(at, AlertLevel.WARNING, code, str(e)))
            if refused is not None:
                refused[path] = e
        if waiting and session.desk.gate.breakers.kill_reason is None:
            _take_back(session, waiting, at, AlertLevel.WARNING, f"{request.by} armed the session")
        if not session.desk.journal_is_down:
            _drop(path)
    if is_last:
        _take_back(session, waiting, clock(), AlertLevel.CRITICAL, "no bar follows")
    return goes_on


def _take_back(
    session: TradingSession, kills: list[Path], at: datetime, level: AlertLevel, why: str
) -> None:
    """Ask no more for kills whose exits are denied, and tell what they leave open."""
    if kills:
        give_up(session, at, level, why)
    for path in kills:
        _drop(path)
    kills.clear()


def _drop(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
