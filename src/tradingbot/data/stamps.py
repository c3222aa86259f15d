"""Reading stamps: text, dates and times with or without a zone, to UTC."""

from __future__ import annotations

import zoneinfo
from datetime import date

import polars as pl

from tradingbot.data.schema import UTC_TIME
from tradingbot.domain.errors import ConfigError, DataError, SchemaError, suggest

_ERA = (1900, 2200)
_STAMP = (
    r"^\s*(?P<day>\d{4}-\d{2}-\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?\s*$"
)


def to_utc(column: pl.Series, *, time_zone: str | None, where: str) -> pl.Series:
    """Read stamps as UTC in µs.

    Args:
        column: ISO 8601 text, dates, or times with or without a zone.
        time_zone: IANA zone of stamps that carry none; None refuses those.
        where: Names the table in errors.

    Raises:
        DataError: Naming the first stamp that is empty, no ISO 8601 time, or (naive) does not
            exist or exists twice in the zone because clocks change.
        SchemaError: If stamps carry no zone and none is given, or are plain numbers.
    """
    require_all(column, column.is_not_null(), "a time", where)
    if column.dtype == pl.String:
        return _parse(column, time_zone, where)
    if column.dtype.is_temporal():
        _require_era(column, column, where)
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        return column.dt.convert_time_zone("UTC").cast(UTC_TIME)
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return _localise(column.cast(pl.Datetime("us")), column, time_zone, where)
    rule = f"column {column.name!r} must hold times"
    remedy = "Write stamps as ISO 8601 with a zone, e.g. 2024-01-02T14:30:00Z"
    raise SchemaError(rule, was=str(column.dtype), where=where, remedy=remedy)


def require_zone(name: str) -> None:
    """Refuse a time zone that is not known.

    Raises:
        ConfigError: Naming the closest one.
    """
    if name not in zoneinfo.available_timezones():
        raise ConfigError(
            "time zone must be an IANA name", was=repr(name), remedy=suggest(name, _zone_names())
        )


def _zone_names() -> list[str]:
    common = ("UTC", "America/New_York", "Europe/London", "Asia/Tokyo")
    by_place = (each for each in zoneinfo.available_timezones() if "/" in each)
    return [*common, *by_place]


def require_all(column: pl.Series, good: pl.Series, kind: str, where: str) -> None:
    """Refuse a column with a cell that is not `good`, naming the first such row and its value.

    Raises:
        DataError: If any cell is not good.
    """
    if not good.all():
        row = int(good.not_().arg_true()[0])
        cell = column.slice(row, 1).cast(pl.String)[0]
        raise DataError(
            f"column {column.name!r} must hold {kind}",
            was=f"{'empty' if cell is None else repr(cell)} in row {row + 1}",
            where=where,
            remedy="Correct the file or map another column with --map",
        )


def _parse(column: pl.Series, time_zone: str | None, where: str) -> pl.Series:
    parts = column.str.extract_groups(_STAMP).struct.unnest()
    text = parts["day"] + " " + parts["time"].fill_null("00:00:00")
    text = text.zip_with(parts["time"].is_null() | (text.str.len_chars() > 16), text + ":00")
    naive = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    require_all(column, naive.is_not_null(), "an ISO 8601 time", where)
    _require_era(column, naive, where)
    has_zone = parts["zone"].is_not_null()
    if has_zone.all():
        return (naive - _offset(parts["zone"])).dt.replace_time_zone("UTC")
    if has_zone.any():
        require_all(column, has_zone, "a time with a zone, like the others", where)
    return _localise(naive, column, time_zone, where)


def _require_era(column: pl.Series, times: pl.Series, where: str) -> None:
    """Refuse years that only damage or a wrong unit can explain."""
    first, last = _ERA
    is_sane = times.cast(pl.Date).is_between(date(first, 1, 1), date(last, 1, 1))
    require_all(column, is_sane, f"a time between {first} and {last}", where)


def _offset(zone: pl.Series) -> pl.Series:
    digits = zone.str.replace(":", "", literal=True).str.replace("^(Z|UTC)$", "+0000")
    minutes = digits.str.slice(1, 2).cast(pl.Int64) * 60 + digits.str.slice(3, 2).cast(pl.Int64)
    sign = digits.str.starts_with("-").cast(pl.Int64) * -2 + 1
    return (minutes * sign * 60_000_000).cast(pl.Duration("us"))


def _localise(naive: pl.Series, raw: pl.Series, time_zone: str | None, where: str) -> pl.Series:
    if time_zone is None:
        rule = "stamps must carry a time zone, or one must be given"
        remedy = "Say where they were written, e.g. --time-zone America/New_York"
        raise SchemaError(rule, was=f"naive, first {raw[0]}", where=where, remedy=remedy)
    require_zone(time_zone)
    local = naive.dt.replace_time_zone(time_zone, ambiguous="null", non_existent="null")
    require_all(raw, local.is_not_null(), f"a time that exists once in {time_zone}", where)
    return local.dt.convert_time_zone("UTC")
