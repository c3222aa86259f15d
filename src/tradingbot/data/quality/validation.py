"""`validate`: every check on a stored market, as one report."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from tradingbot.data.manifest import Provenance
from tradingbot.data.quality.check import FindingAction, hit
from tradingbot.data.quality.coverage import measure_coverage, no_coverage
from tradingbot.data.quality.registry import MARKET_CHECKS, NO_BARS
from tradingbot.data.quality.report import QualityReport, findings_of_quarantine, sort_findings
from tradingbot.data.quality.row_checks import NEGATIVE_PRICE, PASSES
from tradingbot.data.quality.screening import sift
from tradingbot.data.quality.view import ValidationContext, build_view
from tradingbot.data.schema import COVARIATE_COLUMNS, require_bars, require_covariates
from tradingbot.domain.universe import Universe

TRAILING_BARS = 168


def validate(
    bars: pl.DataFrame,
    covariates: pl.DataFrame | None,
    *,
    provenance: Provenance,
    universe: Universe | None = None,
    quarantine: pl.DataFrame | None = None,
    as_of: datetime | None = None,
    trailing_bars: int = TRAILING_BARS,
) -> QualityReport:
    """Judge stored bars by every rule there is; change nothing.

    Rows that `screen` would set aside are reported as flagged and left out of the series and
    coverage rules.

    Args:
        bars: Bar schema, sorted by symbol and close; may hold NaN.
        covariates: Covariate schema; None for none.
        provenance: Says calendar, time frame, grid and adjustment.
        universe: Members and their stays; None asks no question about them.
        quarantine: Rows set aside at import, with `code` and `reason`.
        as_of: Time of the question, UTC: later stamps are errors, older ends are overdue. By
            default the clock's time for the first and the set's end for the second.
        trailing_bars: How many of the last expected bars must be complete.

    Raises:
        SchemaError: If a frame does not have its schema.
    """
    require_bars(bars, where="bars to validate")
    covariates = pl.DataFrame(schema=COVARIATE_COLUMNS) if covariates is None else covariates
    require_covariates(covariates, where="covariates to validate")
    aside = pl.DataFrame() if quarantine is None else quarantine
    question = ValidationContext(provenance, covariates, universe, aside, as_of, trailing_bars)
    findings = findings_of_quarantine(aside)
    # Generated markets may run past today.
    now = as_of or (datetime.max.replace(tzinfo=UTC) if provenance.synthetic else datetime.now(UTC))
    usable, condemned = sift(bars, ((NEGATIVE_PRICE,), *PASSES), as_of=now)
    for check, broken in condemned.items():
        findings += check.findings(check.hits(broken), action=FindingAction.FLAGGED)
    coverage = no_coverage()
    if usable.is_empty():
        findings += NO_BARS.findings(hit(f"0 of {bars.height} rows"))
    else:
        view = build_view(usable, question)
        coverage = measure_coverage(view)
        for rule in MARKET_CHECKS:
            findings += rule.findings(rule.find(view), action=FindingAction.FLAGGED)
    return QualityReport(
        findings=sort_findings(findings),
        coverage=coverage,
        rows=bars.height,
        quarantined_rows=aside.height,
        synthetic=provenance.synthetic,
    )
