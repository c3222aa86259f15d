"""A session that is traded to its end, and requests that find it running or not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tradingbot import __version__
from tradingbot.app import paper_signals
from tradingbot.app.console import print_text, progress_bar, show_json
from tradingbot.app.paper_session import open_session
from tradingbot.app.paper_status import status_of
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.runtime.session.loop import begin, obey, require_positions, run_session


def trade_session(workspace: Path, folder: SessionFolder, *, as_json: bool) -> None:
    """Trade a session to its end, or until it is stopped."""
    settings = folder.settings()
    total = settings.stop_bar
    with (
        open_session(folder, workspace) as session,
        paper_signals.requests_by_signal(folder),
        progress_bar("bars") as progress,
    ):
        session.resume()
        require_positions(session)
        begin(session, folder, datetime.now(UTC), __version__)
        ending = run_session(
            session,
            folder,
            clock=lambda: datetime.now(UTC),
            wait=paper_signals.pace_of(settings.speed),
            told=lambda bar: progress(bar.number + 1, total, f"{bar.closed_at:%Y-%m-%d %H:%M}"),
        )
    document = {"ending": ending, **status_of(folder)}
    if show_json(as_json, document):
        return
    print_text(
        f"{folder.name} {ending} at {document['at']}: equity {document['equity_ccy']}, "
        f"{document['n_orders']} orders, {document['n_fills']} fills"
    )
    if ending == "stopped":
        print_text(f"go on with: tradingbot paper resume {folder.name}")


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
