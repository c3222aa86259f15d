"""Who is told of a notice: the channels that it names, or all that are loud enough for it."""

from __future__ import annotations

from collections.abc import Mapping

from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.settings import ChannelSettings

_LEVELS = tuple(AlertLevel)


def audience_of(notice: AlertNotice, channels: Mapping[str, ChannelSettings]) -> tuple[str, ...]:
    """Return the names of channels that a notice is for, in the order of the settings.

    A name that the settings do not have any more is left out; where none is left, all hear it.
    """
    named = tuple(name for name in channels if name in notice.channels)
    if named:
        return named
    if notice.kind is NoticeKind.TEST:
        return tuple(channels)
    rank = _LEVELS.index(notice.severity)
    return tuple(name for name, each in channels.items() if _LEVELS.index(each.lowest) <= rank)
