"""The file by which a person announces splits to the paper broker."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

from tradingbot.domain.errors import ConfigError, TradingError
from tradingbot.runtime.stock_split import AnnouncedSplit, StockSplit

COLUMNS = ("symbol", "ex_date", "new", "old")
"""Of the file: 4 new units for 1 old are `new` 4 and `old` 1."""


def read_splits(path: Path) -> tuple[AnnouncedSplit, ...]:
    """Read announced splits, in the order of their days.

    Raises:
        ConfigError: If the file cannot be read, or a row is no split.
    """
    remedy = f"Write a CSV file with the columns {', '.join(COLUMNS)}, e.g. SPY,2026-06-10,4,1"
    rule = "splits must be in a file that can be read"
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise ConfigError(rule, was=e, where=str(path), remedy=remedy) from e
    found: dict[tuple[str, date], AnnouncedSplit] = {}
    for number, row in enumerate(rows, 2):
        where = f"{path}, line {number}"
        try:
            symbol, day, new, old = (row[name].strip() for name in COLUMNS)
            split = AnnouncedSplit(symbol, int(new), int(old), date.fromisoformat(day))
            StockSplit(split.symbol, split.numerator, split.denominator)
        except (KeyError, ValueError, AttributeError, TypeError, TradingError) as e:
            was = ",".join(str(each) for each in row.values())[:60]
            raise ConfigError(
                "a split must have " + ", ".join(COLUMNS), was=was, where=where, remedy=remedy
            ) from e
        if (symbol, split.ex_date) in found:
            was = f"{symbol} {day} twice"
            raise ConfigError("a symbol must be split once a day", was=was, where=where)
        found[symbol, split.ex_date] = split
    return tuple(sorted(found.values(), key=lambda each: each.ex_date))
