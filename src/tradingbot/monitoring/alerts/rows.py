"""Rows of the database and the records they stand for, one way and the other."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import fields
from datetime import datetime
from typing import Any

from tradingbot.domain.plain_values import as_plain_values, read_record
from tradingbot.monitoring.alerts.incident import Incident
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.silence import Silence
from tradingbot.monitoring.alerts.storm import StormState

INCIDENT_COLUMNS = ("id", *(each.name for each in fields(Incident)))


def incident_row(incident: Incident) -> tuple[Any, ...]:
    """Return the values of `INCIDENT_COLUMNS`; NaN is null."""
    plain = as_plain_values(incident, keep_non_finite=True)
    for name in ("value", "worst"):
        plain[name] = None if math.isnan(plain[name]) else plain[name]
    return (incident.id, *(plain[name] for name in INCIDENT_COLUMNS[1:]))


def read_incident(row: sqlite3.Row) -> Incident:
    """Return the incident of a row."""
    values = {name: row[name] for name in INCIDENT_COLUMNS[1:]}
    for name in ("value", "worst"):
        values[name] = math.nan if values[name] is None else values[name]
    return read_record(Incident, values, name="incident")


def read_silence(row: sqlite3.Row) -> Silence:
    """Return the silence of a row; one that was ended early lasts until then."""
    values = {each.name: row[each.name] for each in fields(Silence)}
    values["until"] = row["ended_at"] or values["until"]
    return read_record(Silence, values, name="silence")


def notice_row(notice: AlertNotice) -> tuple[Any, ...]:
    """Return kind, severity, title, text, at, incidents, channels, n_incidents."""
    plain = as_plain_values(notice)
    lists = {name: json.dumps(plain[name]) for name in ("incidents", "channels")}
    names = ("kind", "severity", "title", "text", "at", "incidents", "channels", "n_incidents")
    return tuple(lists.get(name, plain[name]) for name in names)


def read_notice(row: sqlite3.Row) -> AlertNotice:
    """Return the notice of a row."""
    values = {each.name: row[each.name] for each in fields(AlertNotice)}
    lists = {name: json.loads(values[name]) for name in ("incidents", "channels")}
    return read_record(AlertNotice, {**values, **lists}, name="notice")


def write_storm(state: StormState) -> str:
    """Return what the engine remembers of storms as JSON."""
    return json.dumps(as_plain_values(state))


def read_storm(text: str) -> StormState:
    """Return what `write_storm` wrote."""
    return read_record(StormState, json.loads(text), name="storm")


def moment(text: str | None) -> datetime | None:
    """Return the time of a column; None where it is null."""
    return None if text is None else datetime.fromisoformat(text)
