"""Quotes from a file, in the columns that `quality.quote_checks` judges."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tradingbot.data.normalise import to_float
from tradingbot.data.quality.quote_checks import QUOTE_COLUMNS
from tradingbot.data.sources.tables import read_table
from tradingbot.data.stamps import to_utc
from tradingbot.domain.errors import SchemaError

_MAX_BYTES = 4 * 1024**3


def read_quotes(path: Path) -> pl.DataFrame:
    """Read a Parquet or CSV file of quotes; prices may be empty, stamps must carry a zone.

    Raises:
        SchemaError: If a column is missing, or stamps carry no zone.
        DataError: If the file cannot be read, or a cell is no number or time.
    """
    table, where = read_table(path, max_bytes=_MAX_BYTES), path.name
    for name in QUOTE_COLUMNS:
        if name not in table.columns:
            rule = f"quotes must have the columns {', '.join(QUOTE_COLUMNS)}"
            was = f"columns {', '.join(table.columns)}"
            raise SchemaError(rule, was=was, where=where, remedy=f"Add {name}")
    return pl.DataFrame(
        {
            "symbol": table["symbol"].cast(pl.String),
            "quoted_at": to_utc(table["quoted_at"], time_zone=None, where=where),
            "bid": to_float(table["bid"], where=where),
            "ask": to_float(table["ask"], where=where),
        }
    )
