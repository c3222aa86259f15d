"""What a check says: one finding per code and symbol. No rule lives here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """Wrong for certain, or wrong enough that no result built on it can be trusted."""
    WARNING = "warning"
    """True and worth a look; the bars can still be used."""
    INFO = "info"
    """Good to know; never changes the exit code."""


class FindingAction(StrEnum):
    """What was done about it. Nothing is ever filled or repaired."""

    QUARANTINED = "quarantined"
    """The rows were set aside with code and reason."""
    DROPPED = "dropped"
    """A repeat of an identical row was left out; the row itself is kept."""
    FLAGGED = "flagged"
    """The rows are still in the bars."""
    REFUSED = "refused"
    """The whole file was refused."""


@dataclass(frozen=True)
class Finding:
    """One code for one symbol (or for the whole set), with how often and where it first occurs."""

    code: str  # stable, UPPER_CASE; see docs/reference/quality_checks.md
    case: str  # D-number of the fault matrix, "" where it has none
    severity: Severity
    symbol: str | None  # None where the finding concerns the whole set
    count: int  # rows, bars, runs or sessions; `message` says which
    first_at: datetime | None  # UTC
    example: str  # the value at `first_at`
    message: str  # the rule in one sentence
    action: FindingAction

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; times as ISO 8601 with offset."""
        values = asdict(self)
        values["first_at"] = self.first_at.isoformat() if self.first_at else None
        return values
