"""The loop of a session: bar after bar until they end or a person stops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Literal

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.session import AlertLevel, AlertRaised, ModelLoaded, SessionStarted
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.control import apply_request
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.session import TradingSession

Ending = Literal["finished", "stopped"]


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
            remedy="See the runbook: a position differs",
        )


def begin(session: TradingSession, folder: SessionFolder, at: datetime, code_version: str) -> None:
    """Journal that a process trades the session from now on, and by what."""
    model = session.model.sha256
    started = SessionStarted(
        at, "paper", session.symbols, model, code_version, folder.settings_sha256()
    )
    session.desk.record(started, ModelLoaded(at, model, folder.settings().run))


def run_session(
    session: TradingSession,
    folder: SessionFolder,
    *,
    clock: Callable[[], datetime],
    wait: Callable[[MarketBar], None],
    told: Callable[[MarketBar], None],
) -> Ending:
    """Take every bar that is left.

    Args:
        session: New, or resumed.
        folder: Whose requests are obeyed before every bar.
        clock: Time of day, for acts of persons.
        wait: Returns when a bar may be taken: at once, or as fast as it was.
        told: Told of every bar that was traded.
    """
    last = -1 if session.bar is None else session.bar.number
    for bar in session.source.bars(after=last):
        wait(bar)
        if not obey(session, folder, clock):
            return "stopped"
        session.take(bar, bar.closed_at)
        told(bar)
    obey(session, folder, clock)
    return "finished"


def obey(session: TradingSession, folder: SessionFolder, clock: Callable[[], datetime]) -> bool:
    """Do what persons ask; tell whether the session goes on.

    A request is dropped only once the journal holds its act; an act that is not allowed is an
    alert.
    """
    goes_on = True
    for path, request in folder.waiting():
        at, authorised = clock(), frozenset(folder.authorised())
        try:
            goes_on = apply_request(session, request, at, authorised) and goes_on
        except (TradingError, ValueError) as e:
            code = f"{request.act.upper()}_REFUSED"
            session.desk.record(AlertRaised(at, AlertLevel.WARNING, code, str(e)))
        if not session.desk.journal_is_down:
            with suppress(FileNotFoundError):
                path.unlink()
    return goes_on
