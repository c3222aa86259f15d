"""How long the bars of a file are, told from their stamps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import polars as pl

from tradingbot.data.normalise import resolve_columns
from tradingbot.data.regular_files import describe_path
from tradingbot.data.sources.tables import FORMATS, read_table
from tradingbot.data.stamps import to_utc
from tradingbot.domain.errors import DataError

_LARGEST_BYTES = 4 * 1024**3
_DAY = timedelta(days=1)


def guess_timeframe(path: Path, columns: Mapping[str, str]) -> str:
    """Return the distance that most stamps of a file have from the one before, as a time frame.

    Args:
        path: A file, or a folder, of which the first file is read.
        columns: Field → column, for what goes by another name.

    Raises:
        DataError: If there is no such file, or its stamps are not evenly spaced.
    """
    files = (
        sorted(f for f in path.iterdir() if f.name.lower().endswith(tuple(FORMATS)))
        if (path.is_dir())
        else [path]
    )
    if not files or not files[0].is_file():
        remedy = f"Name a {', '.join(FORMATS)} file that exists, or a folder of such"
        was = describe_path(path)
        raise DataError("file to import must exist", was=was, where=str(path), remedy=remedy)
    table = read_table(files[0], max_bytes=_LARGEST_BYTES)
    chosen = resolve_columns(table.columns, columns, where=path.name)
    stamps = to_utc(table[chosen["timestamp"]], time_zone="UTC", where=path.name)
    groups = table[chosen["symbol"]] if "symbol" in chosen else pl.Series([""] * len(stamps))
    frame = pl.DataFrame({"group": groups, "stamp": stamps}).sort("group", "stamp")
    steps = frame.select(pl.col("stamp").diff().over("group")).to_series().drop_nulls()
    common = steps.filter(steps > timedelta(0)).mode().sort()
    if common.is_empty():
        rule = "stamps must rise from bar to bar"
        remedy = "Say how long a bar is: timeframe='1h'"
        raise DataError(rule, was="no two that do", where=path.name, remedy=remedy)
    return _named(common[0])


def _named(step: timedelta) -> str:
    if step >= _DAY:
        return "1d"
    minutes = int(step.total_seconds()) // 60
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"
