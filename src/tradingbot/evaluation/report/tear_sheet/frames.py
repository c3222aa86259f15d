"""A tear sheet as data frames: one row per month, drawdown, day, hour, trade or symbol."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.tables import flat_rows


def _rows(records: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame(flat_rows(records), infer_schema_length=None)


def _columns(course: Any, *, less: Sequence[str] = ()) -> pl.DataFrame:
    """Return the lists of a record side by side; one that is empty is left out."""
    names = [field.name for field in dataclasses.fields(course) if field.name not in less]
    found = {name: getattr(course, name) for name in names}
    return pl.DataFrame({name: each for name, each in found.items() if each})


def _holding(sheet: TearSheet) -> pl.DataFrame:
    edges, found = sheet.holding.edges_bars, sheet.holding
    return pl.DataFrame(
        {
            "from_bars": edges[:-1],
            "below_bars": edges[1:],
            "won": found.won,
            "lost": found.lost,
            "pnl_ccy": found.pnl_ccy,
        }
    )


def _rolling(sheet: TearSheet) -> pl.DataFrame:
    if sheet.rolling is None:
        return pl.DataFrame()
    return _columns(sheet.rolling, less=("window_bars", "unchanged_sharpe"))


def _distribution(sheet: TearSheet) -> pl.DataFrame:
    found = sheet.tails
    return pl.DataFrame(
        {
            "from_frac": found.edges_frac[:-1],
            "to_frac": found.edges_frac[1:],
            "days": found.counts,
            "normal_days": found.normal_counts,
        }
    )


FRAMES: Mapping[str, Callable[[TearSheet], pl.DataFrame]] = MappingProxyType(
    {
        "months": lambda sheet: _rows(sheet.months),
        "drawdowns": lambda sheet: _rows(sheet.drawdowns),
        "rolling": _rolling,
        "distribution": _distribution,
        "extremes": lambda sheet: _rows((*sheet.tails.best, *sheet.tails.worst)),
        "exposure": lambda sheet: _columns(sheet.exposure),
        "hours": lambda sheet: _rows(sheet.clock.hours),
        "weekdays": lambda sheet: _rows(sheet.clock.weekdays),
        "trades": lambda sheet: _rows(sheet.trades.rows),
        "holding": _holding,
        "symbols": lambda sheet: _rows(sheet.symbols),
    }
)
"""Name → frame; units are in the names of columns, intervals are three of them."""
