"""`alerts guard`: the process that looks at the alerter's heartbeat."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tradingbot.app.alerts.watching import now_utc, open_dispatcher
from tradingbot.app.console import print_note
from tradingbot.app.signals import StopRequest
from tradingbot.domain.errors import StorageError
from tradingbot.monitoring.alerts.dead_man import AlerterLife, DeadMan
from tradingbot.monitoring.alerts.delivery import Dispatcher
from tradingbot.monitoring.alerts.engine import EngineState
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot.monitoring.alerts.settings import AlertSettings
from tradingbot.monitoring.alerts.store import AlertStore

_DELIVERED_S = 60.0


def guard(
    workspace: Path,
    settings: AlertSettings,
    stop: StopRequest,
    *,
    follows: bool,
    once: bool,
    written: Callable[[str], str] = str,
) -> AlerterLife:
    """Look at the heartbeat and tell when it ends.

    Args:
        workspace: That is watched.
        settings: Channels, and how often to look.
        stop: Asked between two looks.
        follows: End with the alerter: by itself, or after telling that it died.
        once: Look once.
        written: Completes the commands that a notice names.

    Returns:
        What was seen last.
    """
    watched, waiting = DeadMan(AlertReader(workspace)), threading.Event()
    dispatcher = open_dispatcher(workspace, settings, written)
    try:
        while True:
            now = now_utc()
            notice, (life, _) = watched.look(now), watched.life(now)
            if notice is not None:
                _tell(workspace, dispatcher, notice, written)
            has_ended = life is AlerterLife.STOPPED or watched.told_at is not None
            if once or (follows and has_ended) or stop():
                return life
            waiting.wait(settings.interval_s)
    finally:
        dispatcher.close(_DELIVERED_S)


def _tell(
    workspace: Path, dispatcher: Dispatcher, notice: AlertNotice, written: Callable[[str], str]
) -> None:
    """Send a notice, and write what became of it where that is possible."""
    number = 0
    try:
        with AlertStore(workspace) as store:
            state = store.load(notice.at)
            (number,) = store.save((), (notice,), EngineState(storm=state.storm))
    except StorageError as e:
        print_note(written(f"guard: {e}"))
    dispatcher.send(number, notice)
    dispatcher.wait(_DELIVERED_S)
    try:
        with AlertStore(workspace) as store:
            store.record_deliveries([each for each in dispatcher.results() if each.notice])
    except StorageError as e:
        print_note(written(f"guard: {e}"))
