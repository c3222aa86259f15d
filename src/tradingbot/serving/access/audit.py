"""The audit trail of a server: who did what, and who was refused; append-only, chained by hashes.

It holds names and numbers of keys, never secrets.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from tradingbot.domain.errors import StorageError
from tradingbot.domain.redaction import hide_keys
from tradingbot.runs.line_chain import ChainedLine, LineChain

AUDIT_FILE = "audit.jsonl"
AuditKind = Literal[
    "key created",
    "key rotated",
    "key revoked",
    "access refused",
    "locked out",
    "model swapped",
    "swap refused",
    "session asked",
    "model promoted",
    "model rolled back",
]
_LONGEST = 200


class AuditLine(ChainedLine):
    """One line of the trail."""

    kind: AuditKind
    who: str
    """Id of a key, `command line` or `anonymous`."""
    subject: str
    """What it was done to."""
    detail: str
    previous: str


class AuditTrail:
    """The trail of a workspace: `served/audit.jsonl`."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; the file is made by the first line."""
        self.path = workspace / "served" / AUDIT_FILE

    def record(
        self, kind: AuditKind, *, at: datetime, who: str, subject: str = "", detail: str = ""
    ) -> AuditLine:
        """Add a line; on disk when this returns.

        Raises:
            StorageError: If the trail was changed, or the disk refuses.
        """
        with LineChain.alone(self.path, AuditLine, _damaged) as (chain, descriptor):
            told = {"who": _plain(who), "subject": _plain(subject), "detail": _plain(detail)}
            return chain.append(descriptor, at, kind=kind, **told)

    def lines(self) -> tuple[AuditLine, ...]:
        """Return every line, the oldest first.

        Raises:
            StorageError: If one was changed or taken out.
        """
        return LineChain(self.path, AuditLine, _damaged).entries()


def _plain(text: str) -> str:
    """Keep what someone sent on one line, short, and without API keys."""
    shown = hide_keys(text)
    return "".join(each if each.isprintable() else "?" for each in shown)[:_LONGEST]


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "the audit trail must hold every line as it was written",
        was=was,
        where=str(path),
        remedy="Restore it from a backup, or move it aside and keep it",
    )
