"""Alerts for people and for machines: what fires, who watches, which rules there are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from tradingbot.app.console import print_note, print_table
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.monitoring.alerts.dead_man import DeadMan
from tradingbot.monitoring.alerts.incident import Incident
from tradingbot.monitoring.alerts.metric import METRICS
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot.monitoring.alerts.settings import AlertSettings
from tradingbot.monitoring.alerts.silence import Silence


def alerts_document(
    workspace: Path, now: datetime, *, with_past: bool, written: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return the alerts of a workspace as plain values; times are UTC.

    Args:
        workspace: That is watched.
        now: UTC.
        with_past: Resolved incidents too, notices, and what persons did.
        written: Completes the commands that a text names.
    """
    reader = AlertReader(workspace)
    life, heartbeat = DeadMan(reader).life(now)
    incidents = reader.incidents() if with_past else reader.open_incidents()
    document: dict[str, Any] = {
        "alerter": life.value,
        "heard_of_at": None if heartbeat is None else heartbeat.at.isoformat(),
        "incidents": [_completed(incident_document(each), written) for each in incidents],
        "silences": [silence_document(each) for each in reader.silences(now)],
        "deliveries": {
            name: {"sent": sent, "failed": failed}
            for name, (sent, failed) in reader.delivery_counts().items()
        },
    }
    if with_past:
        document["notices"] = [
            {
                **_completed(as_plain_values(row.notice), written),
                "deliveries": as_plain_values(row.deliveries),
            }
            for row in reader.notices()
        ]
        document["acts"] = [each.model_dump() for each in reader.acts()]
    return document


def incident_document(incident: Incident) -> dict[str, Any]:
    """Return an incident as plain values, with its id."""
    return {"id": incident.id, **as_plain_values(incident, keep_non_finite=True)}


def silence_document(silence: Silence) -> dict[str, Any]:
    """Return a silence as plain values."""
    return dict(as_plain_values(silence))


def _completed(plain: dict[str, Any], written: Callable[[str], str]) -> dict[str, Any]:
    return {**plain, "text": written(plain["text"])}


def show_alerts(document: dict[str, Any], written: Callable[[str], str] = str) -> None:
    """Show what `alerts_document` returned as tables; `written` completes commands."""
    rows = [
        (
            *(each[key] for key in ("id", "phase", "severity", "rule", "subject")),
            *(each["value"], each["since"][:19], each["acknowledged_by"] or "", each["text"]),
        )
        for each in document["incidents"]
    ]
    columns = ["id", "phase", "severity", "rule", "subject", "value", "since (UTC)", "taken on by"]
    print_table("Alerts", [*columns, "text"], rows, unbroken=("id", "rule"))
    if document["silences"]:
        silences = [
            (each["id"], each["rule"], each["subject"], each["until"][:19], each["by"])
            for each in document["silences"]
        ]
        print_table("Silences", ["id", "rule", "subject", "until (UTC)", "by"], silences)
    told = document["heard_of_at"]
    print_note(f"the alerter is {document['alerter']}" + (f", heard of at {told}" if told else ""))
    if document["alerter"] in ("unknown", "stopped"):
        print_note(written("start it with: tradingbot alerts watch"))


def rules_document(settings: AlertSettings) -> list[dict[str, Any]]:
    """Return the rules with unit and source of their metrics."""
    return [
        {
            "name": name,
            **as_plain_values(rule),
            "unit": METRICS[rule.metric].unit,
            "source": METRICS[rule.metric].source,
            "measured": METRICS[rule.metric].words,
        }
        for name, rule in settings.rules.items()
    ]


def show_rules(settings: AlertSettings) -> None:
    """Show the rules as a table."""
    rows = [
        (
            name,
            rule.severity.value if rule.is_enabled else "off",
            f"{rule.metric} {rule.limits}",
            f"{rule.for_s:g} s",
            METRICS[rule.metric].source,
            METRICS[rule.metric].words,
        )
        for name, rule in settings.rules.items()
    ]
    columns = ["rule", "severity", "must be", "breached for", "source", "what is measured"]
    print_table("Rules", columns, rows, unbroken=("rule",))
