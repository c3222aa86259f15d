"""Coverage: which part of the bars that should exist do exist, per symbol and per month."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tradingbot.data.quality.view import QualityView
from tradingbot.data.schema import UTC_TIME


@dataclass(frozen=True)
class Coverage:
    """Two tables over the set's whole range; a symbol listed later has a low fraction at first."""

    by_symbol: pl.DataFrame
    """`symbol`, `expected`, `present`, `missing` (bars), `fraction` (0 … 1), `first`, `last`."""
    by_month: pl.DataFrame
    """`symbol` and one column per month, `2024-03`, with the fraction; null where none is due."""


def no_coverage() -> Coverage:
    """Return the coverage of a set without bars."""
    columns: dict[str, pl.DataType | type[pl.DataType]] = {
        "symbol": pl.String,
        **dict.fromkeys(("expected", "present", "missing"), pl.Int64),
        "fraction": pl.Float64,
        **dict.fromkeys(("first", "last"), UTC_TIME),
    }
    return Coverage(pl.DataFrame(schema=columns), pl.DataFrame(schema={"symbol": pl.String}))


def measure_coverage(view: QualityView) -> Coverage:
    """Count expected and present bars."""
    present, expected = view.present & view.expected, view.expected
    span = view.bars.group_by("symbol", maintain_order=True).agg(
        first=pl.col("closed_at").first(), last=pl.col("closed_at").last()
    )
    counts = pl.DataFrame(
        {
            "symbol": view.symbols,
            "expected": expected.sum(axis=0, dtype=np.int64),
            "present": present.sum(axis=0, dtype=np.int64),
        }
    )
    by_symbol = counts.with_columns(
        missing=pl.col("expected") - pl.col("present"),
        fraction=(pl.col("present") / pl.col("expected")).fill_nan(0.0),
    )
    joined = by_symbol.join(span, on="symbol", how="left", maintain_order="left")
    return Coverage(joined, _by_month(view, present))


def _by_month(view: QualityView, present: np.ndarray) -> pl.DataFrame:
    table = pl.DataFrame({"symbol": view.symbols})
    if not view.grid.height:
        return table
    months = view.grid["session"].dt.strftime("%Y-%m").rle().struct.unnest()
    starts = np.concatenate([[0], np.cumsum(months["len"].to_numpy())[:-1]]).astype(np.int64)
    have = np.add.reduceat(present, starts, axis=0, dtype=np.int64)
    due = np.add.reduceat(view.expected, starts, axis=0, dtype=np.int64)
    fraction = np.where(due > 0, have / np.maximum(due, 1), np.nan)
    return table.with_columns(
        pl.Series(month, fraction[row]).fill_nan(None) for row, month in enumerate(months["value"])
    )
