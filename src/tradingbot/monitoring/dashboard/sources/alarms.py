"""Critical incidents that fire and were not acknowledged: what the alerter would wake one for."""

from __future__ import annotations

from pathlib import Path

from tradingbot.domain.errors import UserError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot.monitoring.dashboard.moments import Zone


def list_alarms(workspace: Path, zone: Zone) -> list[str]:
    """Return them in words, the newest first; the reason where alerts cannot be read."""
    reader = AlertReader(workspace)
    try:
        taken = reader.acknowledgements()
        found = [
            each
            for each in reader.open_incidents()
            if each.is_firing and each.severity is AlertLevel.CRITICAL and each.id not in taken
        ]
    except UserError as e:
        return [f"alerts cannot be read: {e}"]
    return [
        f"{each.subject}: {each.rule} fires since {zone.moment(each.since, seconds=True)}"
        for each in found
    ]
