"""A session that is traded to its end, and requests that find it running or not."""

from __future__ import annotations

import math
from itertools import count
from pathlib import Path

from tradingbot import __version__
from tradingbot.app.console import print_note, print_text, progress_bar, show_json
from tradingbot.app.paper import signals
from tradingbot.app.paper.session import SessionBarsError, cancel_at_venue, open_session
from tradingbot.app.paper.status import tell_ending
from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.control import adopt
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.runtime.session.loop import (
    Ending,
    Pace,
    begin,
    obey,
    require_positions,
    require_same_settings,
    rest_s,
    run_session,
)
from tradingbot.runtime.session.phase import PhaseBoard, ToldBars
from tradingbot.runtime.session.session import TradingSession

WARMING_UP, WARM = "WARMING_UP", "WARM"
"""Codes of what a live session tells of its warm-up."""


def trade_session(
    workspace: Path, folder: SessionFolder, *, as_json: bool, adopted_by: str | None = None
) -> Ending:
    """Trade a session to its end, or until it is stopped, and tell its result."""
    with progress_bar("bars") as progress, signals.requests_by_signal(folder):
        ending = run_to_end(workspace, folder, progress, clock=signals.CLOCK, adopted_by=adopted_by)
    tell_ending(folder, ending, as_json=as_json)
    return ending


def run_to_end(
    workspace: Path,
    folder: SessionFolder,
    progress: Progress,
    *,
    clock: Clock = Clock(),  # noqa: B008 - frozen
    adopted_by: str | None = None,
) -> Ending:
    """Trade a session until its bars end or a person stops it.

    Args:
        workspace: Where its bars are.
        folder: New, or of a session that goes on.
        progress: Told of every bar.
        clock: Time of day.
        adopted_by: Who says that what the venue holds beside the session is not its own; None
            where nothing may be.

    Raises:
        JournalUnavailableError: If the journal does not hold the end of it.
    """
    board: PhaseBoard | None = None
    for attempt in count():
        try:
            with open_session(folder, workspace, clock=clock) as session:
                board = board or _board_of(session, folder, clock)
                session.source = ToldBars(session.source, board)
                _begin(session, folder, clock, adopted_by)
                _tell_of_warm_up(session, folder, clock)
                ending = run_session(
                    session, folder, _pace(session, folder, clock, board, progress)
                )
                board.end()
                session.desk.require_journal()
                return ending
        except BrokerUnavailableError as e:
            if board is not None:
                board.wait_for_venue()
            # Before the first turn; afterwards the session itself waits.
            print_note(f"{folder.name} waits for its venue: {e}")
            if not _wait(folder, clock, rest_s(attempt)):
                return "stopped"
    raise AssertionError("unreachable")


def _begin(
    session: TradingSession, folder: SessionFolder, clock: Clock, adopted_by: str | None
) -> None:
    """Go on from where the session was, and make sure that the venue says the same."""
    settings = folder.settings()
    require_same_settings(session, folder, clock.now())
    is_live = not settings.is_replay
    # A kill that waits is obeyed before the first bar: nothing is sent before it.
    session.resume(sends=not folder.is_killed, now=clock.now() if is_live else None)
    session.take_over(clock.now())  # the venue went on meanwhile
    if adopted_by is not None:
        adopt(session, adopted_by, clock.now())
    require_positions(session)
    begin(session, folder, clock.now(), __version__)


def _board_of(session: TradingSession, folder: SessionFolder, clock: Clock) -> PhaseBoard:
    settings = folder.settings()
    is_live = not settings.is_replay
    return PhaseBoard(
        folder,
        session.hours,
        first_bar=settings.first_bar,
        waits=is_live or settings.speed > 0.0,
        is_live=is_live,
        now=clock.now,
    )


def _tell_of_warm_up(session: TradingSession, folder: SessionFolder, clock: Clock) -> None:
    """Journal that a live session decides nothing yet: who waits for it may ask why."""
    settings = folder.settings()
    if session.bar is None and not settings.is_replay:
        words = f"nothing is decided before the last of {settings.first_bar + 1} bars"
        session.desk.record(AlertRaised(clock.now(), AlertLevel.INFO, WARMING_UP, words))


def _pace(
    session: TradingSession,
    folder: SessionFolder,
    clock: Clock,
    board: PhaseBoard,
    progress: Progress,
) -> Pace:
    settings = folder.settings()
    total = settings.stop_bar or 0

    def tell(bar: MarketBar) -> None:
        progress(bar.number + 1, total, f"{bar.closed_at:%Y-%m-%d %H:%M}")
        board.take(bar)
        if bar.number + 1 == settings.first_bar and not settings.is_replay:
            words = f"{settings.first_bar} bars were taken; the next one is decided on"
            session.desk.record(AlertRaised(clock.now(), AlertLevel.INFO, WARM, words))

    is_live = not settings.is_replay
    return Pace(
        clock, is_live, signals.pace_of(0.0 if is_live else settings.speed), tell, board.beat
    )


def _wait(folder: SessionFolder, clock: Clock, seconds: float) -> bool:
    """Wait for a venue; tell whether the session goes on: a stop is heard, others are kept."""
    for _ in range(math.ceil(seconds)):
        clock.sleep(1.0)
        for path, request in folder.waiting():
            if request.act == "stop":
                path.unlink()
                return False
    return True


def ask_session(
    workspace: Path, folder: SessionFolder, request: Request, *, as_json: bool = False
) -> bool:
    """Leave a request, and do it here where no process trades the session; tell whether it was.

    Raises:
        UserError: If it is done here, and not allowed.
    """
    document = {"session": folder.name, "act": request.act}
    path = folder.ask(request)
    if folder.is_running:
        if not show_json(as_json, {**document, "is_done": False}):
            print_text(f"{folder.name} was asked: {request.act}")
        return False
    try:
        is_done, state, why = _obey_here(workspace, folder, request, path)
    except SessionBarsError as e:
        if request.act != "kill":
            raise
        cancel_at_venue(folder)  # a kill is always heard; without bars nothing can be sold
        is_done, state, why = False, TradingState.HALTED, f"its bars: {e}"
    if not show_json(as_json, {**document, "is_done": is_done, "trading_state": state.value}):
        told = "done" if is_done else f"goes on at the next resume, for {why}"
        print_text(f"{folder.name}: {request.act} {told}; it is {state.value}")
    return is_done


def _obey_here(
    workspace: Path, folder: SessionFolder, request: Request, path: Path
) -> tuple[bool, TradingState, str]:
    """Do what is asked in this process; return whether all was done, the state, and why not."""
    clock, refused = signals.CLOCK, dict[Path, Exception]()
    with open_session(folder, workspace, clock=clock) as session:
        if request.act != "kill":  # a kill is always heard
            require_same_settings(session, folder, clock.now())
        session.resume(sends=False)
        obey(session, folder, clock.now, refused)
        state, left = session.trading_state, session.exits.words
    if path in refused:
        raise refused[path]
    # What still waits, the venue or the journal did not confirm all of.
    why = f"the gate denies {left}" if left else "not all was confirmed"
    return not path.exists(), state, why
