"""Screening of rows at import, and `validate`: every check on a stored market, as one report.

Screening refuses files that lie, sets impossible rows aside and keeps the rest untouched. Nothing
is filled, repaired or dropped silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from tradingbot.data import schema
from tradingbot.data.manifest import Provenance
from tradingbot.data.quality import row_checks
from tradingbot.data.quality.check import SYMBOL_UNSAFE, Finding, FindingAction, RowCheck, hit
from tradingbot.data.quality.coverage import measure_coverage, no_coverage
from tradingbot.data.quality.registry import MARKET_CHECKS, NO_BARS
from tradingbot.data.quality.report import QualityReport, findings_of_quarantine, sort_findings
from tradingbot.data.quality.row_checks import NEGATIVE_PRICE, PASSES, PREVIOUS_CLOSE
from tradingbot.data.quality.view import ValidationContext, build_view
from tradingbot.domain.errors import DataError
from tradingbot.domain.symbol import require_symbol
from tradingbot.domain.universe import Universe

QUARANTINE_COLUMNS = {**schema.BAR_COLUMNS, "code": pl.String, "reason": pl.String}


@dataclass(frozen=True)
class Screening:
    """Rows judged: `clean` + `quarantine` = rows given."""

    clean: pl.DataFrame
    """Bar schema, sorted by symbol and close, unique."""
    quarantine: pl.DataFrame
    """Bar schema plus `code` and `reason`; dropped repeats are in it as DUPLICATE_ROW."""
    findings: tuple[Finding, ...]


def screen(bars: pl.DataFrame, *, strict: bool = False, as_of: datetime | None = None) -> Screening:
    """Separate rows that can be used from rows that cannot.

    Args:
        bars: Rows in the columns of the bar schema; cells may be null or NaN, symbols may be
            interleaved, but each symbol's rows must be in order of time.
        strict: Raise on the first row that would be quarantined or dropped.
        as_of: Now, UTC; rows stamped later are quarantined. By default the clock's time.

    Raises:
        DataError: Naming symbol and time, for a negative price (D03), a symbol that could run as
            a formula or leave its folder (D31), rows out of order (D07), two different bars of
            one symbol and time (D06); with `strict`, for any row that cannot be used.
    """
    rows = bars.select(*schema.BAR_COLUMNS)
    unkeyed = row_checks.MISSING_KEY
    is_keyless = rows.select(unkeyed.broken).to_series()
    keyless = _condemn(rows.filter(is_keyless), unkeyed) if is_keyless.any() else None
    rows = rows.filter(~is_keyless) if keyless is not None else rows
    _require_safe_symbols(rows)
    _refuse(rows, row_checks.NEGATIVE_PRICE)
    _refuse(rows, row_checks.OUT_OF_ORDER)
    rows, repeats = _without_repeats(rows.sort(schema.BAR_KEY, maintain_order=True))
    clean, condemned = sift(rows, PASSES, as_of=as_of or datetime.now(UTC))
    known = {unkeyed: keyless, row_checks.DUPLICATE_ROW: repeats}
    condemned = {check: broken for check, broken in known.items() if broken is not None} | condemned
    if strict and condemned:
        check, broken = next(iter(condemned.items()))
        raise _refusal(broken, check, "Mend the file, or import without --strict to quarantine it")
    findings = [
        finding
        for check, broken in condemned.items()
        for finding in check.findings(check.hits(broken))
    ]
    return Screening(clean, _quarantine(condemned), tuple(findings))


def sift(
    rows: pl.DataFrame, passes: Sequence[Sequence[RowCheck]], *, as_of: datetime
) -> tuple[pl.DataFrame, dict[RowCheck, pl.DataFrame]]:
    """Take out the rows that break a rule, pass by pass.

    Args:
        rows: Bar schema, sorted by symbol and close.
        passes: Rules of one pass see the rows that survived the passes before.
        as_of: Now, UTC.

    Returns:
        The rows left, and per broken rule its rows with `example`; each row under the first rule
        it broke.
    """
    rows = rows.with_columns(as_of=pl.lit(as_of).cast(schema.UTC_TIME))
    condemned: dict[RowCheck, pl.DataFrame] = {}
    for checks in passes:
        rows = rows.with_columns(previous_close=PREVIOUS_CLOSE)
        masks = rows.select(check.broken.fill_null(False).alias(check.code) for check in checks)
        if not any(masks.select(pl.all().any()).row(0)):
            continue
        guilty = masks.select(pl.any_horizontal(pl.all())).to_series()
        taken = pl.repeat(False, rows.height, eager=True)
        for check in checks:
            mask = masks[check.code] & ~taken
            if mask.any():
                condemned[check] = _condemn(rows.filter(mask), check)
            taken = taken | mask
        rows = rows.filter(~guilty)
    return rows.select(*schema.BAR_COLUMNS), condemned


def _require_safe_symbols(rows: pl.DataFrame) -> None:
    for symbol in rows["symbol"].unique().sort():
        try:
            require_symbol(symbol)
        except DataError as e:
            raise DataError(f"{e.rule} [{SYMBOL_UNSAFE}]", was=e.was, remedy=e.remedy) from e


def _condemn(rows: pl.DataFrame, check: RowCheck) -> pl.DataFrame:
    return rows.rechunk().with_columns(example=check.shown)


def _refuse(rows: pl.DataFrame, check: RowCheck) -> None:
    is_broken = rows.select(check.broken.fill_null(False)).to_series()
    if is_broken.any():
        raise _refusal(_condemn(rows, check).filter(is_broken), check, "Mend the file")


def _refusal(broken: pl.DataFrame, check: RowCheck, remedy: str) -> DataError:
    row = broken.row(0, named=True)
    at = row["closed_at"].isoformat() if row["closed_at"] else "no time"
    more = f"; {broken.height - 1} more rows like it" if broken.height > 1 else ""
    return DataError(
        f"{check.message} [{check.code}]",
        was=row["example"],
        where=f"{row['symbol'] or 'no symbol'} at {at}{more}",
        remedy=remedy,
    )


def _without_repeats(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    is_repeat = rows.select(row_checks.CONFLICTING_DUPLICATE.broken.fill_null(False)).to_series()
    if not is_repeat.any():
        return rows, None
    unique = rows.unique(maintain_order=True)
    _refuse(unique, row_checks.CONFLICTING_DUPLICATE)
    return unique, _condemn(rows, row_checks.DUPLICATE_ROW).filter(is_repeat)


def _quarantine(condemned: dict[RowCheck, pl.DataFrame]) -> pl.DataFrame:
    frames = [
        broken.with_columns(
            code=pl.lit(check.code), reason=pl.format(check.message + ": {}", "example")
        ).select(*QUARANTINE_COLUMNS)
        for check, broken in condemned.items()
    ]
    empty = pl.DataFrame(schema=QUARANTINE_COLUMNS)
    return pl.concat([empty, *frames]).sort(schema.BAR_KEY, nulls_last=True, maintain_order=True)


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
    schema.require_bars(bars, where="bars to validate")
    covariates = pl.DataFrame(schema=schema.COVARIATE_COLUMNS) if covariates is None else covariates
    schema.require_covariates(covariates, where="covariates to validate")
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
