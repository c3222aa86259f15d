"""The result of the suite: findings of one environment, and tables of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tradingbot.envs.envcheck.check import CheckVerdict

_MARKS = {CheckVerdict.PASS: "pass", CheckVerdict.FAIL: "FAIL", CheckVerdict.UNTESTABLE: "-"}


@dataclass(frozen=True)
class ScorecardEntry:
    """One check's answer about one environment."""

    check: str
    promise: str
    verdict: CheckVerdict
    says: str
    """What was seen, in words with numbers."""
    limit: float | None
    observed: float | None
    remedy: str
    """Empty unless it failed."""


@dataclass(frozen=True)
class Scorecard:
    """All findings about one environment, in the order of the catalogue."""

    environment: str
    version: str
    findings: tuple[ScorecardEntry, ...]

    def count(self, verdict: CheckVerdict) -> int:
        """Return how many checks ended so."""
        return sum(finding.verdict is verdict for finding in self.findings)

    @property
    def failed(self) -> tuple[ScorecardEntry, ...]:
        """The findings that say FAIL."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.FAIL)

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.environment} {self.version}".strip()

    def verdict_of(self, check: str) -> CheckVerdict:
        """Return the verdict of one check by its id."""
        return next(f.verdict for f in self.findings if f.check == check)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can say."""
        counts = {verdict.value.lower(): self.count(verdict) for verdict in CheckVerdict}
        return {
            "environment": self.environment,
            "version": self.version,
            "counts": counts,
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_text(self) -> str:
        """Write a plain table: check, verdict, what was seen; then remedies of what failed."""
        width = max(len(finding.check) for finding in self.findings)
        lines = [f"envcheck: {self.title}", ""]
        lines += [f"{f.check:<{width}}  {f.verdict.value:<10}  {f.says}" for f in self.findings]
        if self.failed:
            lines += ["", "What to do:"]
            lines += [f"  {f.check}: {f.remedy}" for f in self.failed]
        return "\n".join([*lines, "", self.summary()])

    def summary(self) -> str:
        """Return the counts in one line."""
        return (
            f"{self.count(CheckVerdict.PASS)} passed, {self.count(CheckVerdict.FAIL)} failed, "
            f"{self.count(CheckVerdict.UNTESTABLE)} cannot be told"
        )


def comparison_text(cards: Sequence[Scorecard]) -> str:
    """Write checks × environments as plain text, with a letter for each environment."""
    letters = [chr(ord("A") + index) for index in range(len(cards))]
    lines = [
        f"{letter}  {card.title}: {card.summary()}"
        for letter, card in zip(letters, cards, strict=True)
    ]
    width = max(len(finding.check) for finding in cards[0].findings)
    lines += ["", " " * width + "".join(f"{letter:>6}" for letter in letters)]
    for finding in cards[0].findings:
        marks = [_MARKS[card.verdict_of(finding.check)] for card in cards]
        lines.append(f"{finding.check:<{width}}" + "".join(f"{mark:>6}" for mark in marks))
    seen = [f"{card.title}, {f.check}: {f.says}" for card in cards for f in card.failed]
    return "\n".join([*lines, "", *seen]).rstrip()
