"""What persons do to alerts: silence them, end a silence, acknowledge one. Each act is audited.

The trail is `<workspace>/alerts/acts.jsonl`, chained by hashes; it is written before an act counts.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar

from tradingbot.domain.errors import ConfigError, StorageError, suggest
from tradingbot.monitoring.alerts.incident import Incident, IncidentPhase
from tradingbot.monitoring.alerts.rows import read_incident, read_silence
from tradingbot.monitoring.alerts.schema import (
    FOLDER,
    connect,
    database_path,
    read_rows,
    transaction,
)
from tradingbot.monitoring.alerts.silence import Silence
from tradingbot.runs.line_chain import ChainedLine, LineChain

ACTS_FILE = "acts.jsonl"
ActKind = Literal["silenced", "silence ended", "acknowledged", "tested"]
_LONGEST = 200
LONGEST_SILENCE = timedelta(days=30)
_Found = TypeVar("_Found")


class ActLine(ChainedLine):
    """One line of the trail."""

    kind: ActKind
    by: str
    subject: str
    """Id of an incident or a silence, and what it is about."""
    reason: str
    previous: str


class AlertActs:
    """Acts on the alerts of a workspace."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; nothing is made before the first act."""
        self.path = database_path(workspace)
        self.trail_path = workspace / FOLDER / ACTS_FILE

    def silence(
        self, rule: str, subject: str, lasts: timedelta, *, by: str, reason: str, now: datetime
    ) -> Silence:
        """Hold notices of rules and subjects back for a while.

        Args:
            rule: Name, or a pattern with `*`.
            subject: The same.
            lasts: For how long.
            by: Who.
            reason: Why.
            now: UTC.

        Raises:
            ConfigError: If no name or reason is given, or it lasts for ever.
        """
        _require_words(by, reason)
        if not timedelta(0) < lasts <= LONGEST_SILENCE:
            raise ConfigError(
                f"a silence must last for at most {LONGEST_SILENCE.days} days",
                was=lasts,
                remedy="Change the rule where it should never tell: is_enabled: false",
            )
        made = Silence(secrets.token_hex(4), rule, subject, now, now + lasts, by, reason)
        told = f"{made.id}: {rule} of {subject} until {made.until.isoformat(timespec='seconds')}"
        self._record("silenced", now, by, told, reason)
        row = (made.id, rule, subject, now.isoformat(), made.until.isoformat(), by, reason)
        self._write("INSERT INTO silences VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
        return made

    def end_silence(self, identity: str, *, by: str, reason: str, now: datetime) -> Silence:
        """End a silence now.

        Raises:
            ConfigError: If there is none of that id that lasts.
        """
        _require_words(by, reason)
        known = map(read_silence, read_rows(self.path, "SELECT * FROM silences"))
        lasting = {each.id: each for each in known if each.until > now}
        found = _pick(identity, lasting, "silence must be one that lasts")
        self._record("silence ended", now, by, f"{found.id}: {found.rule}", reason)
        self._write("UPDATE silences SET ended_at = ? WHERE id = ?", (now.isoformat(), found.id))
        return found

    def acknowledge(self, identity: str, *, by: str, reason: str, now: datetime) -> Incident:
        """Take an incident on: it is not escalated any more.

        Raises:
            ConfigError: If no open incident has that id.
        """
        _require_words(by, reason)
        query = "SELECT * FROM incidents WHERE phase != ?"
        rows = read_rows(self.path, query, IncidentPhase.RESOLVED.value)
        incidents = {each.id: each for each in map(read_incident, rows)}
        found = _pick(identity, incidents, "incident must be one that is open")
        told = f"{found.id}: {found.rule}, {found.subject}"
        self._record("acknowledged", now, by, told, reason)
        row = (found.id, now.isoformat(), by, reason)
        self._write("INSERT OR IGNORE INTO acknowledgements VALUES (?, ?, ?, ?)", row)
        return found

    def record_test(self, channels: str, *, by: str, now: datetime) -> None:
        """Write that channels were tried."""
        self._record("tested", now, by, channels, "alerts test")

    def lines(self) -> tuple[ActLine, ...]:
        """Return every act, the oldest first.

        Raises:
            StorageError: If a line was changed or taken out.
        """
        return LineChain(self.trail_path, ActLine, _damaged).entries()

    def _record(self, kind: ActKind, at: datetime, by: str, subject: str, reason: str) -> None:
        with LineChain.alone(self.trail_path, ActLine, _damaged) as (chain, descriptor):
            told = {"by": _plain(by), "subject": _plain(subject), "reason": _plain(reason)}
            chain.append(descriptor, at, kind=kind, **told)

    def _write(self, statement: str, row: tuple[str, ...]) -> None:
        database = connect(self.path, writes=True)
        try:
            with transaction(database, self.path):
                database.execute(statement, row)
        finally:
            database.close()


def _pick(identity: str, known: dict[str, _Found], rule: str) -> _Found:
    found = [each for name, each in known.items() if identity and name.startswith(identity)]
    if len(found) != 1:
        remedy = suggest(identity, known) if known else "There is none"
        raise ConfigError(rule, was=repr(identity[:40]), remedy=remedy)
    return found[0]


def _require_words(by: str, reason: str) -> None:
    for name, text in (("by", by), ("reason", reason)):
        if not text.strip():
            rule = f"--{name} must be given: what is done to alerts is audited"
            raise ConfigError(rule, was="nothing", remedy=f"Write e.g. --{name} maintenance")


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)[:_LONGEST]


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "the trail of alerts must hold every line as it was written",
        was=was,
        where=str(path),
        remedy="Restore it from a backup, or move it aside and keep it",
    )
