"""What a rule says of an agent: code, severity, numbers, words and what to do about it."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple


class AlarmLevel(IntEnum):
    """How bad a sign is; 0 stands for no sign where severities are in a tensor."""

    INFO = 1
    """Worth knowing, nothing to mend."""
    WARNING = 2
    CRITICAL = 3


class Diagnosis(NamedTuple):
    """One rule's finding about one agent."""

    code: str
    severity: AlarmLevel
    agent: str
    observed: float
    limit: float
    words: str
    """One sentence with the agent's name and the numbers."""
    remedy: str
    update: int
    """Number of the update after which it was found."""

    def to_row(self) -> dict[str, Any]:
        """Return it as it stands in the run directory."""
        severity, observed = self.severity.name.lower(), plain_number(self.observed)
        return {**self._asdict(), "severity": severity, "observed": observed}

    def __str__(self) -> str:
        """Tell it in one line."""
        return f"{self.severity.name.lower()} {self.code}: {self.words} {self.remedy}"


def plain_number(number: float) -> float | None:
    """Return a number as JSON can hold it: None for NaN and infinity."""
    return number if math.isfinite(number) else None


def percent(share: float) -> str:
    """Write a share for people.

    Example:
        >>> percent(0.974), percent(0.0004)
        ('97 %', '0.04 %')
    """
    number = 100.0 * share
    return f"{number:.0f} %" if number >= 1.0 or number == 0.0 else f"{number:.2g} %"
