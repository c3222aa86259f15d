"""Rules about quotes: no order may be sent on a market that is crossed, locked or too wide."""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality.check import Finding, RowCheck, Severity, as_text, describe
from tradingbot.data.schema import UTC_TIME
from tradingbot.domain.errors import SchemaError

QUOTE_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "symbol": pl.String,
    "quoted_at": UTC_TIME,
    "bid": pl.Float64,  # price per unit in quote currency
    "ask": pl.Float64,
}
WIDE_SPREAD_FRAC = 0.05  # of the mid price

_BID, _ASK = pl.col("bid"), pl.col("ask")
_IS_VALID = (_BID.is_finite() & _ASK.is_finite() & (_BID > 0) & (_ASK > 0)).fill_null(False)
_SHOWN = pl.format("bid {} ask {}", as_text("bid"), as_text("ask"))


def check_quotes(quotes: pl.DataFrame) -> tuple[Finding, ...]:
    """Judge quotes (see `QUOTE_COLUMNS`); cells may be null or NaN.

    Raises:
        SchemaError: If the columns are others.
    """
    if dict(quotes.schema) != QUOTE_COLUMNS:
        raise SchemaError(
            f"quotes must have the columns {', '.join(QUOTE_COLUMNS)} with times in UTC",
            was=", ".join(f"{name} {kind}" for name, kind in quotes.schema.items()),
        )
    findings: list[Finding] = []
    for check in QUOTE_CHECKS:
        rows = quotes.filter(check.broken)
        findings += check.findings(describe(rows, check.shown, at="quoted_at"))
    return tuple(findings)


def _rule(code: str, severity: Severity, message: str, broken: pl.Expr) -> RowCheck:
    return RowCheck(code, "D30", severity, message, broken=broken, shown=_SHOWN)


QUOTE_CHECKS: tuple[RowCheck, ...] = (
    _rule("QUOTE_INVALID", Severity.ERROR, "bid and ask must be positive", ~_IS_VALID),
    _rule("QUOTE_CROSSED", Severity.ERROR, "bid must not be above ask", _IS_VALID & (_BID > _ASK)),
    _rule("QUOTE_LOCKED", Severity.WARNING, "bid equals ask", _IS_VALID & (_BID == _ASK)),
    _rule(
        "QUOTE_WIDE",
        Severity.WARNING,
        "spread is above 5 % of the price",
        _IS_VALID & (_ASK - _BID > WIDE_SPREAD_FRAC * (_ASK + _BID) / 2),
    ),
)
