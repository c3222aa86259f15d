"""The bar schema: which columns a stored bar has, their types, units and order.

A bar is stamped with its close. `known_at` is when we could first have seen it.
"""

from __future__ import annotations

import polars as pl

from tradingbot.domain.errors import SchemaError

UTC_TIME = pl.Datetime("us", "UTC")

BAR_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "symbol": pl.String,
    "closed_at": UTC_TIME,  # end of the bar, UTC
    "known_at": UTC_TIME,  # when the bar could first be seen, never before closed_at
    "open": pl.Float64,  # prices per unit in quote currency
    "high": pl.Float64,
    "low": pl.Float64,
    "close": pl.Float64,
    "volume": pl.Float64,  # units traded
    "vwap": pl.Float64,  # volume-weighted mean price; (high + low + close) / 3 where unknown
}
PRICE_COLUMNS = ("open", "high", "low", "close")

COVARIATE_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "symbol": pl.String,
    "name": pl.String,  # e.g. "sentiment" in [0, 1], or "signal" of a planted market
    "available_at": UTC_TIME,  # from when on the value may be used
    "value": pl.Float64,
}
BAR_KEY = ("symbol", "closed_at")
COVARIATE_KEY = ("symbol", "name", "available_at")


def require_bars(bars: pl.DataFrame, *, where: str) -> pl.DataFrame:
    """Return `bars` if columns, types, order and uniqueness are those of the schema.

    Values are not judged here: that is the work of `tradingbot.data.quality`.

    Raises:
        SchemaError: Naming the first rule that is broken.
    """
    _require_columns(bars, BAR_COLUMNS, where)
    _require_sorted(bars, BAR_KEY, where)
    if bars.filter(pl.col("known_at") < pl.col("closed_at")).height:
        raise SchemaError("known_at must not be before closed_at", where=where)
    return bars


def require_covariates(covariates: pl.DataFrame, *, where: str) -> pl.DataFrame:
    """Return `covariates` if columns, types, order and uniqueness are those of the schema."""
    _require_columns(covariates, COVARIATE_COLUMNS, where)
    _require_sorted(covariates, COVARIATE_KEY, where)
    return covariates


def _require_columns(
    frame: pl.DataFrame, columns: dict[str, pl.DataType | type[pl.DataType]], where: str
) -> None:
    if dict(frame.schema) != columns:
        raise SchemaError(
            f"columns must be {', '.join(f'{name} {kind}' for name, kind in columns.items())}",
            was=", ".join(f"{name} {kind}" for name, kind in frame.schema.items()),
            where=where,
        )
    if sum(frame.null_count().row(0)):
        raise SchemaError(
            "no cell may be empty", was=str(frame.null_count().to_dicts()[0]), where=where
        )


def _require_sorted(frame: pl.DataFrame, key: tuple[str, ...], where: str) -> None:
    # Each row's key must be greater than the one before: one pass instead of a sort.
    rises = pl.lit(False)
    for column in reversed(key):
        value, before = pl.col(column), pl.col(column).shift(1)
        rises = (value > before) | ((value == before) & rises)
    if not frame.select(rises.slice(1).all()).item():
        raise SchemaError(f"rows must be sorted by {', '.join(key)} without repeats", where=where)
