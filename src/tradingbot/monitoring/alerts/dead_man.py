"""The dead man's switch: another process looks at the alerter's heartbeat, and tells of its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tradingbot.domain.errors import StorageError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.reading import LEAST_LATE_S, AlertReader, Heartbeat
from tradingbot.monitoring.alerts.rule import COOLDOWN_S


class AlerterLife(StrEnum):
    """What a heartbeat says of the alerter."""

    ALIVE = "alive"
    STOPPED = "stopped"
    """By itself, on purpose."""
    DEAD = "dead"
    UNKNOWN = "unknown"
    """It never ran here."""


@dataclass
class DeadMan:
    """Watches one heartbeat and remembers what it told.

    Args:
        reader: Of the workspace.
    """

    reader: AlertReader
    told_at: datetime | None = None
    """When it was told last that the alerter is dead; None while it lives."""
    looked_at: datetime | None = None

    def life(self, now: datetime) -> tuple[AlerterLife, Heartbeat | None]:
        """Say what the heartbeat says; a database that cannot be read is a dead alerter."""
        try:
            heartbeat = self.reader.heartbeat()
        except StorageError:
            return AlerterLife.DEAD, None
        if heartbeat is None:
            return AlerterLife.UNKNOWN, None
        if heartbeat.stopped_at is not None:
            return AlerterLife.STOPPED, heartbeat
        return (AlerterLife.DEAD if heartbeat.is_late(now) else AlerterLife.ALIVE), heartbeat

    def look(self, now: datetime) -> AlertNotice | None:
        """Return what must be told now: that it died (again after a cooldown), or lives again.

        Who slept itself since its last look, as both do with their machine, looks once more first;
        so does who finds that its clock was set.
        """
        slept_s = 0.0 if self.looked_at is None else abs(now - self.looked_at).total_seconds()
        self.looked_at = now
        life, heartbeat = self.life(now)
        if life is AlerterLife.DEAD:
            if slept_s > LEAST_LATE_S and self.told_at is None:
                return None
            cooldown = timedelta(seconds=COOLDOWN_S)
            if self.told_at is not None and abs(now - self.told_at) < cooldown:
                return None
            self.told_at = now
            return _dead(heartbeat, now)
        if self.told_at is None:
            return None
        self.told_at = None
        text = f"The alerter is {life.value}. Alerts of the time between may be missing."
        title = "INFO resolved: alerter"
        return AlertNotice(NoticeKind.RESOLVED, AlertLevel.INFO, title, text, now, n_incidents=0)


def _dead(heartbeat: Heartbeat | None, now: datetime) -> AlertNotice:
    known = "its database cannot be read"
    if heartbeat is not None:
        age_s = (now - heartbeat.at).total_seconds()
        when = f"{age_s:.0f} s ago" if age_s >= 0.0 else "before the clock was set back"
        known = f"process {heartbeat.process} was heard of last {when}"
    text = f"Nothing is watched: {known}. Start it again: tradingbot alerts watch."
    title = "CRITICAL: the alerter is dead"
    return AlertNotice(NoticeKind.DEAD_MAN, AlertLevel.CRITICAL, title, text, now, n_incidents=0)
