"""`alerts test`: every channel is tried for itself, without another one standing in for it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tradingbot.app.alerts.watching import now_utc
from tradingbot.app.console import print_note
from tradingbot.domain.errors import UserError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.acts import AlertActs
from tradingbot.monitoring.alerts.channels.opening import ChannelSurroundings, open_channels
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.settings import AlertSettings


def try_each(
    workspace: Path, settings: AlertSettings, names: tuple[str, ...], *, by: str
) -> list[dict[str, Any]]:
    """Send a test over channels; audited.

    Returns:
        Name, where it leads without secrets, whether it was taken, seconds, and the problem.

    Raises:
        ConfigError: If a channel cannot be opened.
    """
    around = ChannelSurroundings(workspace, os.environ, print_note)
    channels = open_channels(settings, around)
    at = now_utc()
    text = f"This is a test by {by}. Nothing is wrong."
    notice = AlertNotice(NoticeKind.TEST, AlertLevel.INFO, "INFO: test of alerts", text, at)
    found = []
    for name in names:
        began, problem = time.monotonic(), None
        try:
            channels[name].send(notice)
        except UserError as e:
            problem = str(e)
        found.append(
            {
                "channel": name,
                "leads_to": channels[name].label,
                "is_sent": problem is None,
                "seconds": round(time.monotonic() - began, 3),
                "problem": problem,
            }
        )
    AlertActs(workspace).record_test(", ".join(names), by=by, now=at)
    return found
