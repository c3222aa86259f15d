"""A notice: what is told of one incident, or of many at once in a storm."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.incident import Incident
from tradingbot.monitoring.alerts.rule import AlertRule


class NoticeKind(StrEnum):
    """Why something is told."""

    FIRED = "fired"
    ESCALATED = "escalated"
    RESOLVED = "resolved"
    ENDED = "ended"
    """What it is about is no longer measured, and was breached to the last."""
    GROUPED = "grouped"
    """Several in a storm, as one."""
    TEST = "test"
    DEAD_MAN = "dead_man"
    """The alerter itself stopped."""


@dataclass(frozen=True)
class AlertNotice:
    """What channels are given."""

    kind: NoticeKind
    severity: AlertLevel
    title: str
    text: str
    at: datetime
    """When it was decided."""
    incidents: tuple[str, ...] = ()
    """Ids."""
    channels: tuple[str, ...] = ()
    """Which are told; all where none is named."""
    n_incidents: int = 1


def describe(
    kind: NoticeKind,
    incident: Incident,
    rule: AlertRule,
    at: datetime,
    *,
    channels: tuple[str, ...] = (),
) -> AlertNotice:
    """Return the notice of one incident."""
    known = {NoticeKind.FIRED: "", NoticeKind.ENDED: " ended unresolved"}
    words = known.get(kind, f" {kind.value}")
    title = f"{incident.severity.value.upper()}{words}: {incident.rule}, {incident.subject}"
    facts = f"{incident.metric} {incident.value:g}, must be {rule.limits}"
    if kind is not NoticeKind.FIRED:
        facts = f"{facts}; worst {incident.worst:g}"
    since = f"since {incident.since.isoformat(timespec='seconds')}"
    parts = (f"{facts} ({since}, id {incident.id})", incident.text, rule.words)
    text = ". ".join(each.rstrip(".") for each in parts if each) + "."
    return AlertNotice(kind, incident.severity, title, text, at, (incident.id,), channels)
