"""What the closing time of a bar says on the exchange's clock, for a grid or for one bar.

| field | number |
|---|---|
| `weekday` | Monday 0 … Sunday 6, of the close |
| `session_day` | days since 1970; a close at midnight belongs to the day before |
| `time_of_day` | minutes since midnight, of the close |
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, TypeGuard, get_args
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from tradingbot.features.inputs import FloatArray, TimeArray

TimeField = Literal["weekday", "session_day", "time_of_day"]
TIME_FIELDS: tuple[str, ...] = get_args(TimeField)
_FIRST_DAY = date(1970, 1, 1).toordinal()


def is_time_field(name: str) -> TypeGuard[TimeField]:
    """Tell whether an input of that name is read from the clock."""
    return name in TIME_FIELDS


def time_field(name: TimeField, closed_at: TimeArray, time_zone: str) -> FloatArray:
    """Return (T,) of a grid of closing times, UTC."""
    utc = pl.Series(closed_at.astype("datetime64[us]")).dt.replace_time_zone("UTC")
    before = utc.dt.offset_by("-1us") if name == "session_day" else utc
    local = before.dt.convert_time_zone(time_zone)
    if name == "weekday":
        numbers = local.dt.weekday() - 1
    elif name == "session_day":
        numbers = local.dt.date().to_physical()
    else:
        numbers = local.dt.hour().cast(pl.Int64) * 60 + local.dt.minute()
    return np.asarray(numbers.cast(pl.Float64).to_numpy())


def time_field_at(name: TimeField, closed_at: np.datetime64, zone: ZoneInfo) -> float:
    """Return the field of one closing time, UTC."""
    micros = int(closed_at.astype("datetime64[us]").astype(np.int64))
    micros -= name == "session_day"
    local = datetime.fromtimestamp(micros // 1_000_000, tz=zone)
    if name == "weekday":
        return float(local.weekday())
    if name == "session_day":
        return float(local.toordinal() - _FIRST_DAY)
    return float(local.hour * 60 + local.minute)
