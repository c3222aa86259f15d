"""Streamlit in this process: loopback unless keys are asked for, XSRF on, nothing sent home."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.monitoring.dashboard.host_guard import HostGuard
from tradingbot.monitoring.dashboard.palette import Theme, palette_of
from tradingbot.monitoring.dashboard.preload import Preload, modules_that_draw
from tradingbot.monitoring.dashboard.served_hosts import hosts_of
from tradingbot.monitoring.dashboard.settings import DashboardSettings
from tradingbot.serving.access.keys import KeyBook
from tradingbot.serving.server.address import bind
from tradingbot.serving.server.settings import ServerSettings

PAGE_SCRIPT = Path(__file__).with_name("page_script.py")
READ: str = "read"
"""Scope of the key that a reader beyond loopback needs."""


def require_dashboard(settings: DashboardSettings, now: datetime) -> int:
    """Refuse what can be refused before anything heavy is imported; return the port.

    Raises:
        ConfigError: If the workspace or the journal is none, the port is taken, or readers beyond
            loopback are to be served without a key that they could have.
        MissingExtraError: If Streamlit or Plotly is not installed.
    """
    if settings.folder.exists() and not settings.folder.is_dir():
        rule = "a workspace must be a folder"
        raise ConfigError(rule, was="a file", where=str(settings.folder))
    if not settings.is_loopback:
        alive = [key for key in KeyBook(settings.folder).read() if key.refusal(now) is None]
        if not any(READ in key.scopes for key in alive):
            raise ConfigError(
                "a dashboard beyond loopback must have an API key of scope read",
                was="none",
                where=", ".join((settings.host, *settings.allow_hosts)),
                remedy="Make one: tradingbot keys create NAME --scope read",
            )
    require_packages()
    if settings.journal is not None:
        _require_journal(settings.journal)
    with bind(ServerSettings(host=settings.host, port=settings.port)) as taken:
        port: int = taken.getsockname()[1]
    return port


def run_dashboard(settings: DashboardSettings, port: int, *, told: Callable[[str], None]) -> None:
    """Serve until a signal ends the process; nothing of it is left behind.

    Args:
        settings: As `require_dashboard` found them good.
        port: That is free.
        told: Takes the address when it can be opened.
    """
    # Streamlit reads these before flags; a stray file of another project must not decide.
    os.environ.pop("STREAMLIT_SERVER_ADDRESS", None)
    from starlette.middleware import Middleware
    from streamlit.starlette import App

    served = hosts_of(settings.host, port, settings.allow_hosts)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host

    @asynccontextmanager
    async def tell(_: App) -> AsyncIterator[None]:
        told(f"http://{host}:{port}")  # its socket listens already
        yield

    layers = [
        Middleware(HostGuard, served=served),
        Middleware(Preload, paths=modules_that_draw()),
    ]
    page = App(PAGE_SCRIPT, lifespan=tell, middleware=layers)
    sys.argv = [str(PAGE_SCRIPT), settings.as_text()]
    with _ended_by_signals():
        # Given as flags, options stay as they are when a file of Streamlit's changes meanwhile.
        page.run(config=options_of(settings, port))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal end the block, as Ctrl-C does: the server raises it again after its own end."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def options_of(settings: DashboardSettings, port: int) -> dict[str, Any]:
    """Return Streamlit's options: closed, quiet, in the product's colours."""
    options: dict[str, Any] = {
        "server.address": settings.host,
        "server.port": port,
        "server.headless": True,
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
        "server.xsrfCookieSameSite": "strict",
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "server.maxUploadSize": 1,
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.showEmailPrompt": False,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "viewer",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.disableDataExport": True,
        "client.allowedOrigins": [],
        "runner.magicEnabled": False,
        # A whole collection after every refresh holds everything for a tenth of a second.
        "runner.postScriptGC": False,
        "logger.level": "error",
        "logger.hideWelcomeMessage": True,
    }
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme in themes:
        palette = palette_of(theme)
        options |= {
            f"theme.{theme}.primaryColor": palette.accent,
            f"theme.{theme}.backgroundColor": palette.ground,
            f"theme.{theme}.secondaryBackgroundColor": palette.paper,
            f"theme.{theme}.textColor": palette.ink,
            f"theme.{theme}.linkColor": palette.accent,
            f"theme.{theme}.borderColor": palette.line,
        }
    return options


def _require_journal(address: str) -> None:
    """Refuse what cannot be a journal; a database that is away may come back."""
    from tradingbot.runtime.journal.address import read_address
    from tradingbot.runtime.journal.connections import require_journal_file

    path = read_address(address).path
    if path is not None:
        require_journal_file(path)


def require_packages() -> None:
    """Refuse to go on without what draws and serves pages.

    Raises:
        MissingExtraError: Naming the package.
    """
    from importlib.util import find_spec

    for package in ("streamlit", "plotly", "sqlalchemy"):
        try:
            found = find_spec(package)
        except ValueError:  # a module without a spec stands for one that is not there
            found = None
        if found is None:
            raise MissingExtraError("dashboard", package=package)
