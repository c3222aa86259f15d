"""The readiness report: findings, coverage and what follows from them. It draws nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from tradingbot.data.json_files import as_json
from tradingbot.data.quality.check import Finding, FindingAction, QualityCheck, Severity, describe
from tradingbot.data.quality.coverage import Coverage
from tradingbot.data.quality.registry import CHECKS

_REPORT_VERSION = 1
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True)
class QualityReport:
    """What `tradingbot data validate` found."""

    findings: tuple[Finding, ...]  # worst first, then by code and symbol
    coverage: Coverage
    rows: int  # bars judged
    quarantined_rows: int
    synthetic: bool
    """True for generated markets; every view of the report says so."""

    @property
    def exit_code(self) -> int:
        """0: clean, or information only; 1: warnings or errors; 2: unusable."""
        if any(_check(finding.code).is_fatal for finding in self.findings):
            return 2
        return int(any(finding.severity is not Severity.INFO for finding in self.findings))

    @property
    def ready(self) -> bool:
        """True where no error is left in the bars; quarantined rows are not in them any more."""
        return not any(
            finding.severity is Severity.ERROR and finding.action is FindingAction.FLAGGED
            for finding in self.findings
        )

    def with_findings(self, more: Iterable[Finding]) -> QualityReport:
        """Return the report with further findings: of quotes, or against an earlier delivery."""
        return replace(self, findings=sort_findings([*self.findings, *more]))

    def count(self, severity: Severity) -> int:
        """Number of findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def summary_rows(self) -> list[dict[str, object]]:
        """One row per code, worst first: how many symbols, how often, where first, an example."""
        grouped: dict[tuple[str, FindingAction], list[Finding]] = {}
        for finding in self.findings:
            grouped.setdefault((finding.code, finding.action), []).append(finding)
        return [_summarise(group) for group in grouped.values()]

    def to_json(self) -> str:
        """Return the whole report; the keys of `version` 1 will not change."""
        content = {
            "version": _REPORT_VERSION,
            "ready": self.ready,
            "exit_code": self.exit_code,
            "synthetic": self.synthetic,
            "rows": self.rows,
            "quarantined_rows": self.quarantined_rows,
            "counts": {severity: self.count(severity) for severity in Severity},
            "findings": self.findings,
            "coverage": self.coverage.by_symbol.to_dicts(),
            "coverage_by_month": self.coverage.by_month.to_dicts(),
        }
        return json.dumps(as_json(content), indent=2, ensure_ascii=False, allow_nan=False)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put the worst first, then by code and symbol."""
    return tuple(sorted(findings, key=lambda f: (_RANK[f.severity], f.code, f.symbol or "")))


def findings_of_quarantine(quarantine: pl.DataFrame) -> list[Finding]:
    """Describe rows that were set aside at import; they carry `code` and `reason`.

    A code this version does not know is reported as it stands, as an error.
    """
    if "code" not in quarantine.columns:
        return []
    findings: list[Finding] = []
    for (code,), rows in quarantine.group_by(["code"], maintain_order=True):
        check = _check(str(code))
        hits = describe(rows, pl.col("reason").str.strip_prefix(f"{check.message}: "))
        is_repeat = check.action is FindingAction.DROPPED
        findings += check.findings(
            hits, action=FindingAction.DROPPED if is_repeat else FindingAction.QUARANTINED
        )
    return findings


def _check(code: str) -> QualityCheck:
    return CHECKS.get(code, QualityCheck(code, "", Severity.ERROR, "set aside by an unknown rule"))


def _summarise(group: list[Finding]) -> dict[str, object]:
    times = [finding.first_at for finding in group if finding.first_at]
    first = min(group, key=lambda f: f.first_at.timestamp() if f.first_at else math.inf)
    return {
        "severity": group[0].severity.value,
        "code": group[0].code,
        "case": group[0].case,
        "symbols": len({finding.symbol for finding in group if finding.symbol}),
        "count": sum(finding.count for finding in group),
        "first_at": min(times).isoformat() if times else None,
        "example": f"{first.symbol}: {first.example}" if first.symbol else first.example,
        "message": group[0].message,
        "action": group[0].action.value,
    }
