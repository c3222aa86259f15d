"""Sentiment scores from a file, as covariates usable only from when they were known.

A score averaged over a day is known when the day is over; stamped on the day itself it would show
the morning what was written in the afternoon.
"""

from __future__ import annotations

from datetime import time, timedelta
from pathlib import Path

import polars as pl

from tradingbot.data.normalise import to_float
from tradingbot.data.schema import COVARIATE_COLUMNS, COVARIATE_KEY
from tradingbot.data.sources.tables import read_table
from tradingbot.data.stamps import require_all, to_utc
from tradingbot.domain.errors import ConfigError, DataError, SchemaError
from tradingbot.domain.symbol import require_symbol

NAME = "sentiment"
_STAMP_NAMES = ("timestamp", "datetime", "date", "time")
_LOOK_AHEAD = "A score stamped with its own day would be seen before the day is over (look-ahead)"
_MAX_BYTES = 4 * 1024**3
_DAY = timedelta(days=1)
_DAYS_FRAC = 0.95  # more stamps at midnight than this and they name days, not moments


def read_sentiment(
    path: Path,
    *,
    column: str = NAME,
    low: float = -1.0,
    high: float = 1.0,
    delay: timedelta | None = None,
) -> pl.DataFrame:
    """Read scores and map them linearly from [low, high] to [0, 1].

    Args:
        path: Parquet or CSV file with `symbol`, the score column and `available_at`.
        column: Which column holds the score.
        low: Score that becomes 0.
        high: Score that becomes 1.
        delay: For files without `available_at`: how long after its stamp a score was known, e.g.
            one day for daily means stamped with the start of their day.

    Returns:
        Frame in the covariate schema, name "sentiment". No row is filled or left out.

    Raises:
        ConfigError: If low and high are not in order, or the delay is negative.
        SchemaError: If a column is missing or the only stamp is the time the score is about.
        DataError: If a score is no number or lies outside [low, high], one moment has two, or
            a score is available before the time or day it is about is over.
    """
    if not low < high:
        remedy = "Write e.g. --sentiment-range -1 1"
        raise ConfigError("low must be below high", was=f"{low} and {high}", remedy=remedy)
    where = path.name
    table = read_table(path, max_bytes=_MAX_BYTES)
    for name in ("symbol", column):
        if name not in table.columns:
            raise SchemaError(
                f"sentiment file must have column {name!r}",
                was=f"columns {', '.join(table.columns)}",
                where=where,
                remedy="Say which column holds the score with --sentiment-column",
            )
    symbols = table["symbol"].cast(pl.String)
    require_all(symbols, symbols.is_not_null(), "a symbol", where)
    for symbol in symbols.unique():
        require_symbol(symbol, where=where)
    scores = to_float(table[column], where=where)
    require_all(
        scores,
        scores.is_between(low, high) & scores.is_finite(),
        f"scores in [{low:g}, {high:g}]",
        where,
    )
    covariates = pl.DataFrame(
        {
            "symbol": symbols,
            "name": pl.repeat(NAME, table.height, eager=True),
            "available_at": _available_at(table, delay, where),
            "value": (scores - low) / (high - low),
        },
        schema=COVARIATE_COLUMNS,
    ).sort(COVARIATE_KEY)
    return _require_single(covariates, where)


def _available_at(table: pl.DataFrame, delay: timedelta | None, where: str) -> pl.Series:
    stamp = next((c for c in table.columns if c.lower() in _STAMP_NAMES), None)
    stamps = None if stamp is None else to_utc(table[stamp], time_zone="UTC", where=where)
    if "available_at" in table.columns:
        if delay is not None:
            rule = "delay must not be given for a file that says available_at"
            remedy = "Leave --sentiment-delay out"
            raise ConfigError(rule, was=str(delay), where=where, remedy=remedy)
        available_at = to_utc(table["available_at"], time_zone=None, where=where)
    elif stamps is not None and delay is not None:
        available_at = stamps + delay
    else:
        raise SchemaError(
            "sentiment file must have column 'available_at'",
            was=f"columns {', '.join(table.columns)}",
            where=where,
            remedy=f"{_LOOK_AHEAD}: add available_at, or say how late scores are known, e.g. "
            "--sentiment-delay 1d",
        )
    if stamps is not None:
        _require_later(available_at, stamps, where)
    return available_at


def _require_later(available_at: pl.Series, stamps: pl.Series, where: str) -> None:
    """Refuse scores known before the time, or the day, that they are about is over.

    A stamp at midnight may stand for the day that begins there. Where nearly all are, they do, and
    a score is known a day later at the earliest.
    """
    is_midnight = stamps.dt.time() == time(0)
    early = (available_at < stamps) | (is_midnight & (available_at == stamps))
    if not early.any() and is_midnight.sum() >= _DAYS_FRAC * len(stamps):
        early = is_midnight & (available_at < stamps + _DAY)
    if early.any():
        row = int(early.arg_true()[0])
        raise DataError(
            "a score must be available after the time it is about; a day lasts until midnight",
            was=f"{available_at[row]} for {stamps[row]} in row {row + 1}",
            where=where,
            remedy=f"{_LOOK_AHEAD}: say --sentiment-delay 1d or more, correct available_at, or, if "
            "scores cover less than their day, stamp them with the moment instead of midnight",
        )


def _require_single(covariates: pl.DataFrame, where: str) -> pl.DataFrame:
    repeated = covariates.filter(covariates.select(COVARIATE_KEY).is_duplicated())
    if repeated.height:
        symbol, _, available_at, _ = repeated.row(0)
        raise DataError(
            "a symbol must have one score at a time",
            was=f"{repeated.height} rows that share theirs, first {symbol} {available_at}",
            where=where,
            remedy="Keep one row for each symbol and moment",
        )
    return covariates
