"""What pages and commands read of alerts: without writing, also while the alerter runs."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tradingbot.monitoring.alerts.acts import ActLine, AlertActs
from tradingbot.monitoring.alerts.incident import Incident, IncidentPhase
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.rows import moment, read_incident, read_notice, read_silence
from tradingbot.monitoring.alerts.schema import database_path, read_rows
from tradingbot.monitoring.alerts.silence import Silence
from tradingbot.monitoring.alerts.store import WATCHER, Delivery

LATE_INTERVALS = 5.0
"""Intervals without a heartbeat after which a process counts as dead."""
LEAST_LATE_S = 5.0


@dataclass(frozen=True)
class Heartbeat:
    """That a process watched, and when last."""

    name: str
    at: datetime
    process: int
    interval_s: float
    stopped_at: datetime | None

    def is_late(self, now: datetime) -> bool:
        """Tell whether it should have been heard of since; not where it ended by itself.

        One from far ahead is of before the clock was set back: who lives says so again at once.
        """
        longest_s = max(LATE_INTERVALS * self.interval_s, LEAST_LATE_S)
        return self.stopped_at is None and abs(now - self.at).total_seconds() > longest_s


class NoticeRow(NamedTuple):
    """A notice with its number and what became of it."""

    number: int
    notice: AlertNotice
    deliveries: tuple[Delivery, ...]


class AlertReader:
    """The alerts of a workspace, to be read; empty where it was never watched.

    Every method reads anew and raises StorageError where the database is damaged.
    """

    def __init__(self, workspace: Path) -> None:
        self.path = database_path(workspace)
        self._acts = AlertActs(workspace)

    @property
    def is_present(self) -> bool:
        """Whether alerts were ever watched here."""
        return self.path.is_file()

    def open_incidents(self) -> tuple[Incident, ...]:
        """Return what is pending or firing now, the newest first."""
        query = "SELECT * FROM incidents WHERE phase != ? ORDER BY since DESC"
        return tuple(map(read_incident, self._rows(query, IncidentPhase.RESOLVED.value)))

    def incidents(self, *, limit: int = 100) -> tuple[Incident, ...]:
        """Return incidents of any phase that fired or are pending, the newest first."""
        query = "SELECT * FROM incidents ORDER BY since DESC LIMIT ?"
        return tuple(map(read_incident, self._rows(query, limit)))

    def notices(self, *, limit: int = 100) -> tuple[NoticeRow, ...]:
        """Return what was told, the newest first, with what became of it on each channel."""
        found = self._rows("SELECT * FROM notices ORDER BY id DESC LIMIT ?", limit)
        if not found:
            return ()
        deliveries: dict[int, list[Delivery]] = {}
        for row in self._rows("SELECT * FROM deliveries WHERE notice >= ?", found[-1]["id"]):
            deliveries.setdefault(row["notice"], []).append(_delivery(row))
        return tuple(
            NoticeRow(row["id"], read_notice(row), tuple(deliveries.get(row["id"], ())))
            for row in found
        )

    def silences(self, now: datetime) -> tuple[Silence, ...]:
        """Return the silences that last."""
        rows = self._rows("SELECT * FROM silences ORDER BY made_at DESC")
        return tuple(each for each in map(read_silence, rows) if each.until > now)

    def acknowledgements(self) -> dict[str, tuple[datetime, str, str]]:
        """Return id of an incident → when, by whom and why it was acknowledged."""
        rows = self._rows("SELECT * FROM acknowledgements")
        return {
            row["incident"]: (datetime.fromisoformat(row["at"]), row["by"], row["reason"])
            for row in rows
        }

    def heartbeat(self, name: str = WATCHER) -> Heartbeat | None:
        """Return when the alerter (or another process by its name) was heard of last."""
        rows = self._rows("SELECT * FROM heartbeats WHERE name = ?", name)
        if not rows:
            return None
        row = rows[0]
        at, stopped = datetime.fromisoformat(row["at"]), moment(row["stopped_at"])
        return Heartbeat(name, at, row["process"], row["interval_s"], stopped)

    def delivery_counts(self) -> dict[str, tuple[int, int]]:
        """Return channel → how many deliveries were sent, and how many failed."""
        rows = self._rows(
            "SELECT channel, sum(is_sent) AS sent, sum(1 - is_sent) AS failed"
            " FROM deliveries GROUP BY channel ORDER BY channel"
        )
        return {row["channel"]: (row["sent"], row["failed"]) for row in rows}

    def acts(self) -> tuple[ActLine, ...]:
        """Return what persons did: silences, acknowledgements, tests; the oldest first."""
        return self._acts.lines()

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        return read_rows(self.path, query, *values)


def _delivery(row: sqlite3.Row) -> Delivery:
    return Delivery(
        row["notice"],
        row["channel"],
        datetime.fromisoformat(row["at"]),
        bool(row["is_sent"]),
        row["attempts"],
        row["seconds"],
        row["stands_in_for"],
        row["problem"],
    )
