"""When a policy earned: by hour and weekday of the exchange."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.metrics.periods import WEEKDAYS, local_clock
from tradingbot.evaluation.performance.tear_sheet.record import ClockProfile, ClockRow
from tradingbot.evaluation.statistics.bootstrap import MIN_BARS
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval


def clock_profile(series: FloatArray, closed_at: NDArray[np.int64], time_zone: str) -> ClockProfile:
    """Divide returns (T,) of bars that closed at (T,), µs since 1970 UTC."""
    clock = local_clock(closed_at, time_zone)
    hours, weekdays = np.unique(clock.hour), np.unique(clock.weekday)
    return ClockProfile(
        time_zone=time_zone,
        hours=_rows(series, clock.hour, [f"{hour:02d} h" for hour in hours]),
        weekdays=_rows(series, clock.weekday, [WEEKDAYS[day] for day in weekdays]),
        cells_bps=tuple(
            tuple(
                _mean_bps(series[(clock.weekday == day) & (clock.hour == hour)]) for hour in hours
            )
            for day in weekdays
        ),
    )


def _rows(series: FloatArray, keys: IntArray, names: Sequence[str]) -> tuple[ClockRow, ...]:
    parts = [series[keys == key] for key in np.unique(keys)]
    return tuple(
        ClockRow(name, len(part), _interval(part), float(part.sum()))
        for name, part in zip(names, parts, strict=True)
    )


def _interval(part: FloatArray) -> Interval:
    if len(part) < MIN_BARS:
        return Interval(_mean_bps(part), math.nan, math.nan)
    return net_bps_interval(part)


def _mean_bps(part: FloatArray) -> float:
    return 1e4 * float(part.mean()) if len(part) else math.nan
