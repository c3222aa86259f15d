"""`alerts watch`: the process that watches, with one beside it that watches over it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from tradingbot.app.console import print_note
from tradingbot.app.signals import StopRequest
from tradingbot.monitoring.alerts.channels.opening import ChannelSurroundings, open_channels
from tradingbot.monitoring.alerts.delivery import Dispatcher
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.schema import FOLDER
from tradingbot.monitoring.alerts.settings import AlertSettings
from tradingbot.monitoring.alerts.sources.disk import DiskSource
from tradingbot.monitoring.alerts.sources.runs import RunsSource
from tradingbot.monitoring.alerts.sources.servers import ServersSource
from tradingbot.monitoring.alerts.sources.source import AlertSource
from tradingbot.monitoring.alerts.store import AlertStore
from tradingbot.monitoring.alerts.watcher import AlertWatcher
from tradingbot.runs.lock import hold_lock

KEY_VARIABLE = "TRADINGBOT_API_KEY"
_LAST_DELIVERIES_S = 10.0


def now_utc() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


def open_sources(workspace: Path, settings: AlertSettings) -> list[AlertSource]:
    """Return everything that is measured; sessions only where the journal's packages are."""
    sources: list[AlertSource] = [
        DiskSource(workspace),
        RunsSource(workspace),
        ServersSource(settings.servers, api_key=os.environ.get(KEY_VARIABLE) or None),
    ]
    if find_spec("sqlalchemy") is None or find_spec("alembic") is None:
        print_note("sessions are not watched: pip install 'tradingbot[trade]'")
        return sources
    from tradingbot.monitoring.alerts.sources.sessions import SessionsSource

    return [SessionsSource(workspace), *sources]


def open_dispatcher(
    workspace: Path, settings: AlertSettings, written: Callable[[str], str] = str
) -> Dispatcher:
    """Open the channels, and the threads that send by them; `written` completes commands."""
    around = ChannelSurroundings(workspace, os.environ, print_note)
    return Dispatcher(settings, open_channels(settings, around), now_utc, written)


@contextmanager
def open_watcher(
    workspace: Path, settings: AlertSettings, written: Callable[[str], str] = str
) -> Iterator[AlertWatcher]:
    """Be the one process that watches a workspace.

    Args:
        workspace: That is watched.
        settings: Rules and channels.
        written: Completes the commands that a notice names.

    Raises:
        ConfigError: If another does, or a channel cannot be used.
    """
    with ExitStack() as held:
        (workspace / FOLDER).mkdir(parents=True, exist_ok=True)
        held.enter_context(hold_lock(workspace / FOLDER / "lock", "alerts watch"))
        dispatcher = open_dispatcher(workspace, settings, written)
        held.callback(dispatcher.close)
        store = held.enter_context(AlertStore(workspace))
        sources = open_sources(workspace, settings)
        for source in sources:
            held.callback(source.close)
        watcher = AlertWatcher(settings, sources, store, dispatcher, process=os.getpid())
        watcher.begin(now_utc())
        yield watcher
        dispatcher.wait(_LAST_DELIVERIES_S)
        watcher.end(now_utc())


class GuardProcess:
    """The process that tells when this one dies; started again where it ends."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", "tradingbot.app.cli", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def samples(self) -> list[MetricSample]:
        """Return whether it had ended, and start it again."""
        has_ended = self._process is not None and self._process.poll() is not None
        if self._process is None or has_ended:
            self._process = subprocess.Popen(
                self._command, start_new_session=True, stdin=subprocess.DEVNULL
            )
        told = "it ended and was started again" if has_ended else ""
        return [MetricSample("guard_down", "guard", float(has_ended), told)]

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def watch(watcher: AlertWatcher, stop: StopRequest) -> None:
    """Look again and again until a signal; deliveries are written as they come."""
    waiting = threading.Event()
    while not stop():
        watcher.look(now_utc())
        waiting.wait(watcher.settings.interval_s)
