"""From a vendor's table to rows in the bar schema: names, numbers, closing stamps.

Nothing here judges values (that is `quality`) or reads files (that is `sources`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import polars as pl

from tradingbot.data import stamp_checks
from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.schema import BAR_COLUMNS, PRICE_COLUMNS
from tradingbot.data.stamps import require_all, require_zone, to_utc
from tradingbot.domain.errors import DataError, SchemaError, require_known
from tradingbot.domain.timeframe import BarGrid, Timeframe

REQUIRED = ("timestamp", *PRICE_COLUMNS, "volume")
OPTIONAL = ("symbol", "vwap", "known_at")
_ALIASES = {"timestamp": ("timestamp", "datetime", "date", "time"), "symbol": ("symbol", "ticker")}
# More strays than this and the whole file lies on another grid than the user said.
_OFF_GRID_FRAC = 0.05
_HOUR = Timeframe(1, "h")


@dataclass(frozen=True)
class StampRules:
    """How a table's stamps are to be read."""

    time_zone: str | None = None
    """Zone of stamps that carry none; None refuses them."""
    stamps: Literal["open", "close"] = "open"
    timeframe: Timeframe = _HOUR
    grid: BarGrid = BarGrid.SESSION
    calendar: str = "XNYS"

    def __post_init__(self) -> None:
        """Refuse a zone that is not known, also where every stamp carries its own."""
        if self.time_zone is not None:
            require_zone(self.time_zone)


def resolve_columns(
    found: Sequence[str], mapping: Mapping[str, str], *, where: str
) -> dict[str, str]:
    """Decide which column of a table holds which field.

    Without a mapping a field is the column of its name in any case; `timestamp` may also be
    called datetime, date or time, and `symbol` ticker.

    Args:
        found: The table's columns.
        mapping: Field → column, for what goes by another name.
        where: Names the table in errors.

    Returns:
        Field → column, for every required field and the optional ones that exist.

    Raises:
        ConfigError: If the mapping names an unknown field.
        SchemaError: If a required field has no column or several.
    """
    fields = (*REQUIRED, *OPTIONAL)
    for field, column in mapping.items():
        require_known(field, fields, "mapped field must be one of the bar's")
        if column not in found:
            raise _no_column(f"column {column!r}, mapped to {field}", found, where)
    chosen = {}
    for field in fields:
        names = _ALIASES.get(field, (field,))
        columns = [mapping[field]] if field in mapping else []
        columns = columns or [c for c in found if c.strip().lower() in names]
        if len(columns) > 1:
            rule = f"{field} must be one column"
            remedy = f"Say which with --map {field}=COLUMN"
            raise SchemaError(rule, was=", ".join(columns), where=where, remedy=remedy)
        if columns:
            chosen[field] = columns[0]
        elif field in REQUIRED:
            raise _no_column(f"column {field!r}", found, where)
    return chosen


def to_bars(
    table: pl.DataFrame, columns: Mapping[str, str], rules: StampRules, *, where: str
) -> pl.DataFrame:
    """Turn a table with a `symbol` into rows of the bar schema, in the table's order.

    Empty numeric cells become NaN, to be judged by `quality`. `vwap` is (high + low + close) / 3
    where the table has none; `known_at` is the close where the table has none.

    Raises:
        SchemaError, DataError: Naming the first cell that cannot be read.
    """
    # A day alone names a session, in no particular zone.
    is_label = rules.timeframe.is_daily and _are_days(table[columns["timestamp"]])
    zone = "UTC" if is_label else rules.time_zone
    stamps = to_utc(table[columns["timestamp"]], time_zone=zone, where=where)
    symbols = _symbols(table[columns["symbol"]], where=where)
    stamp_checks.require_spacing(stamps, symbols, rules.timeframe, where=where)
    bars = pl.DataFrame(
        {
            "symbol": symbols,
            "closed_at": _closes(stamps, symbols, rules, where=where, is_label=is_label),
            **{name: to_float(table[columns[name]], where=where) for name in PRICE_COLUMNS},
            "volume": to_float(table[columns["volume"]], where=where),
        }
    )
    if "vwap" in columns:
        bars = bars.with_columns(to_float(table[columns["vwap"]], where=where).alias("vwap"))
    else:
        bars = bars.with_columns(vwap=(pl.col("high") + pl.col("low") + pl.col("close")) / 3)
    known = bars["closed_at"]
    if "known_at" in columns:
        known = to_utc(table[columns["known_at"]], time_zone=rules.time_zone, where=where)
    return bars.with_columns(known.alias("known_at")).select(list(BAR_COLUMNS))


def to_float(column: pl.Series, *, where: str) -> pl.Series:
    """Widen or parse numbers to float64, exactly; empty cells become NaN.

    Raises:
        DataError: Naming the row and value of the first cell that is no number.
    """
    if column.dtype in (pl.String, pl.Categorical):
        texts = column.cast(pl.String).str.strip_chars()
        numbers = texts.replace("", None).cast(pl.Float64, strict=False)
        require_all(
            texts, numbers.is_not_null() | texts.is_null() | (texts == ""), "a number", where
        )
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
    else:
        raise SchemaError(
            f"column {column.name!r} must hold numbers", was=str(column.dtype), where=where
        )
    return numbers.fill_null(float("nan"))


def require_order(bars: pl.DataFrame, *, where: str) -> None:
    """Refuse rows that go back in time within a symbol.

    Raises:
        SchemaError: Naming the first such row.
    """
    step = pl.col("closed_at").diff().over("symbol")
    back = bars.with_row_index("row", offset=1).filter(step < timedelta(0))
    if back.height:
        row, symbol, closed_at = back.select("row", "symbol", "closed_at").row(0)
        raise SchemaError(
            "rows of one symbol must be in order of time",
            was=f"{back.height} going back, first row {row} ({symbol} {closed_at:%Y-%m-%d %H:%M}Z)",
            where=where,
            remedy="Sort the file, or say --sort if the order carries no meaning",
        )


def _are_days(column: pl.Series) -> bool:
    if column.dtype == pl.String:
        return bool(column.str.contains(r"^\s*\d{4}-\d{2}-\d{2}\s*$").all())
    return column.dtype == pl.Date


def _closes(
    stamps: pl.Series, symbols: pl.Series, rules: StampRules, *, where: str, is_label: bool
) -> pl.Series:
    if not len(stamps):
        return stamps
    days = stamps.dt.date().sort()
    calendar = TradingCalendar.load(
        rules.calendar, days[0] - timedelta(days=1), days[-1] + timedelta(days=1)
    )
    if rules.stamps == "close" and not is_label:
        stamp_checks.require_closings(stamps, symbols, calendar, is_computed=False, where=where)
        stamp_checks.require_no_openings(stamps, symbols, calendar, rules.timeframe, where=where)
        return stamps
    if not rules.timeframe.is_daily:
        stamp_checks.require_starts(stamps, symbols, calendar, where=where)
    _require_starts(stamps, calendar, rules, where=where)
    closed_at = calendar.close_of(stamps, rules.timeframe, rules.grid)
    stamp_checks.require_closings(closed_at, symbols, calendar, is_computed=True, where=where)
    return closed_at


def _require_starts(
    stamps: pl.Series, calendar: TradingCalendar, rules: StampRules, *, where: str
) -> None:
    on_grid = calendar.is_grid_start(stamps, rules.timeframe, rules.grid)
    strays = len(on_grid) - int(on_grid.sum())
    if strays > _OFF_GRID_FRAC * len(on_grid):
        other = next(grid for grid in BarGrid if grid is not rules.grid)
        raise DataError(
            f"bars of {rules.timeframe} must start on the {rules.grid} grid of {rules.calendar}",
            was=f"{strays} of {len(on_grid)} elsewhere, first {stamps.filter(~on_grid)[0]}",
            where=where,
            remedy=stamp_checks.remedy_around_the_clock(stamps, calendar)
            or f"Try --grid {other}, another --timeframe, or --stamps close",
        )


def _symbols(column: pl.Series, *, where: str) -> pl.Series:
    texts = column.cast(pl.String)
    require_all(texts, texts.is_not_null(), "a symbol", where)
    return texts.str.strip_chars()


def _no_column(subject: str, found: Sequence[str], where: str) -> SchemaError:
    remedy = "Name it with --map FIELD=COLUMN, e.g. --map timestamp=time --map volume=vol"
    only = found[0] if len(found) == 1 else ""
    used = next((mark for mark in (";", "\t", "|", ",") if mark in only), None)
    if used:
        remedy = f"The delimiter looks like {used!r}: say --delimiter {used!r}"
    return SchemaError(
        f"file must have {subject}",
        was=f"columns {', '.join(found)}"[:300],
        where=where,
        remedy=remedy,
    )
