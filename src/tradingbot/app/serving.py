"""The inference server of a workspace, wired: keys, model, sessions, log."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.domain.errors import MissingExtraError
from tradingbot.serving.access.keys import KeyBook
from tradingbot.serving.server.settings import ServerSettings, require_keys

if TYPE_CHECKING:
    from tradingbot.serving.served_model import ServedModel
    from tradingbot.serving.server.parts import ServerParts
    from tradingbot.serving.server.portfolios import RunningSleeves


def open_server(workspace: Path, settings: ServerSettings) -> tuple[ServerParts, socket.socket]:
    """Put a server together and take its address; no model is opened yet.

    Raises:
        ConfigError: If keys are needed and there are none, or the address is taken.
        StorageError: If the file of keys is damaged, or others may read it.
        MissingExtraError: If the packages of a server are not installed.
    """
    now = datetime.now(UTC)
    alive = [key for key in KeyBook(workspace).read() if key.refusal(now) is None]
    require_keys(settings, len(alive))
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as e:
        raise MissingExtraError("serve", package="fastapi") from e
    from tradingbot.serving.server.address import bind

    listening = bind(settings)
    # The rest of a server takes seconds to import: what can be refused early is refused by now.
    from tradingbot.app.session_desk import WorkspaceSessions
    from tradingbot.serving.server.parts import ServerParts

    parts = ServerParts.build(
        workspace,
        settings,
        clock=lambda: datetime.now(UTC),
        desk=WorkspaceSessions(workspace),
        sleeves=_open_sleeves,
    )
    return parts, listening


def _open_sleeves(model: ServedModel, time_zone: str) -> RunningSleeves:
    """Open the sleeves of a portfolio; torch is imported by the first one."""
    from tradingbot.app.served_portfolio import PushedSleeves

    return PushedSleeves(model, time_zone)


def serve_on(parts: ServerParts, listening: socket.socket, *, told: Callable[[str], None]) -> None:
    """Serve until a signal; see `serving.server.running.run_server`."""
    from tradingbot.serving.server.running import run_server

    _log_to_stderr()
    run_server(parts, on=listening, told=told)


def _log_to_stderr() -> None:
    """Write what happens on standard error, one line each, times in UTC."""
    root = logging.getLogger("tradingbot.serving")
    line = logging.StreamHandler()
    line.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root.addHandler(line)
    root.setLevel(logging.INFO)
