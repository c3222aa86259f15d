"""An incident: one rule breached by one subject, from its first breach to its end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tradingbot.domain.events.session import AlertLevel

IncidentKey = tuple[str, str]
"""(rule, subject): at most one incident of a key is open."""


class IncidentPhase(StrEnum):
    """How far an incident is."""

    PENDING = "pending"
    """Breached, but not for long enough."""
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class Incident:
    """What is known of an incident; a pure value that `engine.advance` turns into the next one."""

    rule: str
    subject: str
    metric: str
    severity: AlertLevel
    phase: IncidentPhase
    since: datetime
    """Of the first breach without a pause."""
    seen_at: datetime
    """When it was measured last."""
    value: float
    """As measured last."""
    worst: float
    text: str = ""
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    announced_at: datetime | None = None
    """When it was told; None where a cooldown or a silence held it back so far."""
    quiet_until: datetime | None = None
    """Until when its key is not told again."""
    escalation_step: int = 0
    """Steps that were taken."""
    acknowledged_by: str | None = None

    @property
    def key(self) -> IncidentKey:
        """Rule and subject."""
        return self.rule, self.subject

    @property
    def id(self) -> str:
        """Eight characters that name it: of rule, subject and beginning."""
        words = f"{self.rule}\n{self.subject}\n{self.since.isoformat()}"
        return hashlib.sha256(words.encode()).hexdigest()[:8]

    @property
    def is_firing(self) -> bool:
        """Whether it needs attention now."""
        return self.phase is IncidentPhase.FIRING
