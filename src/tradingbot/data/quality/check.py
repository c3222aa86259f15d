"""What a check is: a code, its case, its severity, and how to find it. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tradingbot.data.quality.finding import Finding, FindingAction, Severity
from tradingbot.data.quality.view import QualityView
from tradingbot.data.schema import UTC_TIME

HIT_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "symbol": pl.String,  # null where the hit concerns the whole set
    "at": UTC_TIME,  # null where it has no time
    "example": pl.String,  # the value, as shown to people
}


@dataclass(frozen=True, eq=False)
class QualityCheck:
    """The part of a check that people read; subclasses know how to find it."""

    code: str
    case: str
    severity: Severity
    message: str
    action: FindingAction = FindingAction.FLAGGED
    is_fatal: bool = False
    """True where one hit makes the whole set unusable (exit code 2)."""

    def findings(self, hits: pl.DataFrame, *, action: FindingAction | None = None) -> list[Finding]:
        """Merge hits (see `HIT_COLUMNS`) into one finding per symbol, in order of symbol."""
        if hits.is_empty():
            return []
        merged = (
            hits.select(*HIT_COLUMNS)
            .sort("symbol", "at", nulls_last=True, maintain_order=True)
            .group_by("symbol", maintain_order=True)
            .agg(count=pl.len(), at=pl.col("at").first(), example=pl.col("example").first())
        )
        return [
            Finding(
                code=self.code,
                case=self.case,
                severity=self.severity,
                symbol=row["symbol"],
                count=row["count"],
                first_at=row["at"],
                example=row["example"],
                message=self.message,
                action=action or self.action,
            )
            for row in merged.iter_rows(named=True)
        ]


@dataclass(frozen=True, eq=False)
class RowCheck(QualityCheck):
    """A rule that condemns single rows, as an expression over bars sorted by symbol and close."""

    broken: pl.Expr = pl.lit(False)  # noqa: RUF009 - an expression is immutable
    """True where the row breaks the rule; null counts as False."""
    shown: pl.Expr = pl.lit("")  # noqa: RUF009
    """The value to show, as text."""

    def hits(self, broken_rows: pl.DataFrame) -> pl.DataFrame:
        """Describe rows that broke the rule; they carry `shown` as `example`."""
        return describe(broken_rows, pl.col("example"))


@dataclass(frozen=True, eq=False)
class MarketCheck(QualityCheck):
    """A rule about series, calendar, covariates, universe or quotes."""

    find: Callable[[QualityView], pl.DataFrame] = lambda view: no_hits()
    """Return hits; see `HIT_COLUMNS`."""


def no_hits() -> pl.DataFrame:
    """Return an empty frame of hits."""
    return pl.DataFrame(schema=HIT_COLUMNS)


def describe(rows: pl.DataFrame, example: pl.Expr, *, at: str | None = "closed_at") -> pl.DataFrame:
    """Turn rows with `symbol` into hits.

    Args:
        rows: The rows that broke the rule.
        example: The value to show, as text.
        at: Column with the time of each hit; None where it has none.
    """
    if rows.is_empty():
        return no_hits()
    time = pl.lit(None, UTC_TIME) if at is None else pl.col(at)
    # Columns in different chunks make Polars 2.1 panic when it joins them to text.
    return rows.rechunk().select("symbol", at=time, example=example)


def as_text(name: str) -> pl.Expr:
    """Show a number with at most seven significant digits, and an empty cell as `empty`."""
    return pl.col(name).round_sig_figs(7).cast(pl.String).fill_null("empty")


def hit(example: str, *, symbol: str | None = None) -> pl.DataFrame:
    """Return one hit without a time."""
    return pl.DataFrame([(symbol, None, example)], schema=HIT_COLUMNS, orient="row")
