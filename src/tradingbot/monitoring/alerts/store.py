"""What the alerter writes: incidents and notices in one transaction, then what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tradingbot.domain.plain_values import as_plain_values
from tradingbot.monitoring.alerts.engine import EngineState
from tradingbot.monitoring.alerts.incident import Incident, IncidentPhase
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.rows import (
    INCIDENT_COLUMNS,
    incident_row,
    notice_row,
    read_incident,
    read_notice,
    read_silence,
    read_storm,
    write_storm,
)
from tradingbot.monitoring.alerts.schema import connect, database_path, explained, transaction
from tradingbot.monitoring.alerts.silence import Silence

WATCHER = "watcher"
"""Name of the alerter's own heartbeat."""
_KEPT_INCIDENTS, _KEPT_NOTICES = 10_000, 50_000
_STORM = "storm"


@dataclass(frozen=True)
class Delivery:
    """What became of one notice on one channel."""

    notice: int
    """Number of the notice."""
    channel: str
    at: datetime
    is_sent: bool
    attempts: int
    seconds: float
    """From when the notice was decided to the end of the last attempt."""
    stands_in_for: str | None = None
    """Channel that failed before."""
    problem: str | None = None
    """Why it failed; without secrets."""


class AlertStore:
    """The database of alerts, open to write; one process watches, others only read or ask.

    Raises:
        StorageError: If the database is damaged or the disk refuses; so do all methods.
    """

    def __init__(self, workspace: Path) -> None:
        self.path = database_path(workspace)
        self._database = connect(self.path, writes=True)

    def load(self, now: datetime) -> EngineState:
        """Return what the engine knew last: a restart tells nothing twice."""
        with explained(self.path):
            rows = self._database.execute(
                "SELECT * FROM incidents WHERE phase != ? OR quiet_until > ? ORDER BY since",
                (IncidentPhase.RESOLVED.value, now.isoformat()),
            ).fetchall()
            memory = self._database.execute(
                "SELECT value FROM memory WHERE name = ?", (_STORM,)
            ).fetchone()
        found = [read_incident(row) for row in rows]
        incidents = {each.key: each for each in found}  # of one key the youngest
        state = EngineState(incidents)
        return state if memory is None else EngineState(incidents, read_storm(memory["value"]))

    def save(
        self, changed: Sequence[Incident], notices: Sequence[AlertNotice], state: EngineState
    ) -> tuple[int, ...]:
        """Write what changed, and notices before they are sent; return the notices' numbers."""
        if not changed and not notices:
            return ()
        columns = ", ".join(INCIDENT_COLUMNS)
        places = ", ".join("?" for _ in INCIDENT_COLUMNS)
        # A breach that ended before it fired was none.
        vain = [(each.id,) for each in changed if each.resolved_at and not each.fired_at]
        kept = [each for each in changed if not (each.resolved_at and not each.fired_at)]
        with transaction(self._database, self.path) as database:
            database.executemany("DELETE FROM incidents WHERE id = ?", vain)
            database.executemany(
                f"INSERT OR REPLACE INTO incidents ({columns}) VALUES ({places})",  # noqa: S608
                [incident_row(each) for each in kept],
            )
            numbers = tuple(
                database.execute(
                    "INSERT INTO notices (kind, severity, title, text, at, incidents, channels,"
                    " n_incidents) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    notice_row(each),
                ).lastrowid
                or 0
                for each in notices
            )
            database.execute(
                "INSERT OR REPLACE INTO memory VALUES (?, ?)", (_STORM, write_storm(state.storm))
            )
        return numbers

    def unsent(self) -> tuple[tuple[int, AlertNotice], ...]:
        """Return notices that were decided and that no channel took so far."""
        with explained(self.path):
            rows = self._database.execute(
                "SELECT * FROM notices WHERE is_delivered = 0 ORDER BY id"
            ).fetchall()
        return tuple((row["id"], read_notice(row)) for row in rows)

    def record_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Write what became of notices; one that any channel took is not sent again."""
        if not deliveries:
            return
        with transaction(self._database, self.path) as database:
            database.executemany(
                "INSERT INTO deliveries (notice, channel, at, is_sent, attempts, seconds,"
                " stands_in_for, problem) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [tuple(as_plain_values(each).values()) for each in deliveries],
            )
            database.executemany(
                "UPDATE notices SET is_delivered = 1 WHERE id = ?",
                [(each.notice,) for each in deliveries if each.is_sent],
            )

    def silences(self) -> tuple[Silence, ...]:
        """Return every silence that was not ended before it began to matter."""
        with explained(self.path):
            rows = self._database.execute("SELECT * FROM silences").fetchall()
        return tuple(read_silence(row) for row in rows)

    def acknowledged(self) -> dict[str, str]:
        """Return id of an incident → who acknowledged it."""
        with explained(self.path):
            rows = self._database.execute("SELECT incident, by FROM acknowledgements").fetchall()
        return {row["incident"]: row["by"] for row in rows}

    def beat(self, name: str, now: datetime, *, process: int, interval_s: float) -> None:
        """Say that a process lives."""
        with transaction(self._database, self.path) as database:
            database.execute(
                "INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?, ?, NULL)",
                (name, now.isoformat(), process, interval_s),
            )

    def stop(self, name: str, now: datetime) -> None:
        """Say that a process ends by itself, which is no alarm."""
        with transaction(self._database, self.path) as database:
            database.execute(
                "UPDATE heartbeats SET stopped_at = ? WHERE name = ?", (now.isoformat(), name)
            )

    def prune(self) -> None:
        """Forget the oldest of what is resolved and told, so that the file stays small."""
        with transaction(self._database, self.path) as database:
            database.execute(
                "DELETE FROM incidents WHERE phase = ? AND id NOT IN"
                " (SELECT id FROM incidents ORDER BY since DESC LIMIT ?)",
                (IncidentPhase.RESOLVED.value, _KEPT_INCIDENTS),
            )
            newest = "(SELECT coalesce(max(id), 0) FROM notices)"
            for table, column in (("deliveries", "notice"), ("notices", "id")):
                database.execute(
                    f"DELETE FROM {table} WHERE {column} <= {newest} - ?",  # noqa: S608
                    (_KEPT_NOTICES,),
                )

    def close(self) -> None:
        """Give the database back."""
        self._database.close()

    def __enter__(self) -> AlertStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
