"""Silences: which rules and subjects are not told of for a while, by whom, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Silence:
    """Holds notices back; incidents are watched and kept all the same."""

    id: str
    rule: str
    """Name of a rule, or a pattern with `*` and `?`."""
    subject: str
    """Of a subject; `*`: of all."""
    made_at: datetime
    until: datetime
    by: str
    reason: str

    def covers(self, rule: str, subject: str, now: datetime) -> bool:
        """Tell whether notices of a rule and a subject are held back now."""
        is_now = self.made_at <= now < self.until
        return is_now and fnmatchcase(rule, self.rule) and fnmatchcase(subject, self.subject)


def is_silenced(silences: Iterable[Silence], rule: str, subject: str, now: datetime) -> bool:
    """Tell whether any silence covers a rule and a subject now."""
    return any(each.covers(rule, subject, now) for each in silences)
