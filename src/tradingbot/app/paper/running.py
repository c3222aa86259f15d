"""A session that is traded to its end, and requests that find it running or not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tradingbot import __version__
from tradingbot.app.console import print_text, progress_bar, show_json
from tradingbot.app.paper import signals
from tradingbot.app.paper.session import open_session
from tradingbot.app.paper.status import status_of
from tradingbot.data.sources.source import Progress
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.runtime.session.loop import Ending, begin, obey, require_positions, run_session


def trade_session(workspace: Path, folder: SessionFolder, *, as_json: bool) -> None:
    """Trade a session to its end, or until it is stopped, and tell its result."""
    with progress_bar("bars") as progress, signals.requests_by_signal(folder):
        ending = run_to_end(workspace, folder, progress)
    document = {"ending": ending, **status_of(folder)}
    if show_json(as_json, document):
        return
    print_text(
        f"{folder.name} {ending} at {document['at']}: equity {document['equity_ccy']}, "
        f"{document['n_orders']} orders, {document['n_fills']} fills"
    )
    if ending == "stopped":
        print_text(f"go on with: tradingbot paper resume {folder.name}")


def run_to_end(workspace: Path, folder: SessionFolder, progress: Progress) -> Ending:
    """Trade a session until its bars end or a person stops it.

    Args:
        workspace: Where its bars are.
        folder: New, or of a session that goes on.
        progress: Told of every bar.
    """
    settings = folder.settings()
    total = settings.stop_bar
    with open_session(folder, workspace) as session:
        session.resume()
        require_positions(session)
        begin(session, folder, datetime.now(UTC), __version__)
        return run_session(
            session,
            folder,
            clock=lambda: datetime.now(UTC),
            wait=signals.pace_of(settings.speed),
            told=lambda bar: progress(bar.number + 1, total, f"{bar.closed_at:%Y-%m-%d %H:%M}"),
        )


def ask_session(workspace: Path, folder: SessionFolder, request: Request) -> None:
    """Leave a request, and do it here where no process trades the session."""
    folder.ask(request)
    if folder.is_running:
        print_text(f"{folder.name} was asked: {request.act}; see: paper status {folder.name}")
        return
    with open_session(folder, workspace) as session:
        session.resume(sends=False)
        obey(session, folder, lambda: datetime.now(UTC))
        state = session.trading_state
    print_text(f"{folder.name}: {request.act} done; it is {state.value}")
