"""What a check is and what it says: one finding per code and symbol. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

import polars as pl

from tradingbot.data.quality.view import QualityView
from tradingbot.data.schema import UTC_TIME

SYMBOL_UNSAFE = "SYMBOL_UNSAFE"
HIT_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "symbol": pl.String,  # null where the hit concerns the whole set
    "at": UTC_TIME,  # null where it has no time
    "example": pl.String,  # the value, as shown to people
}


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


Finder = Callable[[QualityView], pl.DataFrame]


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
                *(self.code, self.case, self.severity, symbol, count, at, example),
                *(self.message, action or self.action),
            )
            for symbol, count, at, example in merged.iter_rows()
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

    find: Finder = lambda view: no_hits()
    """Return hits; see `HIT_COLUMNS`."""


def _market_check(
    severity: Severity,
    code: str,
    case: str,
    message: str,
    action: FindingAction = FindingAction.FLAGGED,
    *,
    is_fatal: bool = False,
) -> Callable[[Finder], MarketCheck]:
    """Make a function that returns hits a check of that severity: a decorator."""
    return partial(MarketCheck, code, case, severity, message, action, is_fatal)


error, warning, info = (partial(_market_check, severity) for severity in Severity)


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
