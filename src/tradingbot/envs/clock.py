"""The clock of arrays from outside: brought to microseconds, or refused if its unit is unsure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import DataError
from tradingbot.market.bars import require_rising

_SECOND = 1_000_000
_EARLIEST, _LATEST = np.array(["1900-01-01", "2200-01-01"], "datetime64[us]").astype(int).tolist()
_MILLISECONDS = np.array(["1980-01-01", "2100-01-01"], "datetime64[ms]").astype(int).tolist()
"""Numbers that are days of early 1970 in microseconds, and a market's years in milliseconds."""
_REMEDY = "Give datetime64 of any unit, or closed_at.astype('datetime64[us]').astype('int64')"


def read_clock(closed_at: ArrayLike) -> NDArray[np.int64]:
    """Return a clock (T,) as microseconds since 1970 UTC.

    Args:
        closed_at: datetime64 of any unit, UTC, converted exactly; or whole microseconds.

    Raises:
        DataError: If it is neither, does not rise, cannot be written in whole microseconds, or its
            numbers look like another unit.
    """
    given = np.asarray(closed_at)
    if given.ndim != 1 or given.dtype.kind not in "Miu":
        rule = "closed_at must be (T,) datetime64 or whole microseconds since 1970 UTC"
        raise DataError(rule, was=f"{given.dtype} {given.shape}", where="closed_at", remedy=_REMEDY)
    if given.dtype.kind == "M":
        clock = _exactly(given)
        require_rising(clock)
        return clock
    clock = given.astype(np.int64)
    require_rising(clock)
    _require_microseconds(clock)
    return clock


def _exactly(given: NDArray[Any]) -> NDArray[np.int64]:
    micros = given.astype("datetime64[us]")
    wrong = np.isnat(given) | (micros.astype(given.dtype) != given)
    if wrong.any():
        bar = int(wrong.argmax())
        raise DataError("closed_at must be whole microseconds", was=given[bar], where=f"bar {bar}")
    return micros.astype(np.int64)


def _require_microseconds(clock: NDArray[np.int64]) -> None:
    if not len(clock):
        return
    first, last = int(clock[0]), int(clock[-1])
    step = float(np.median(np.diff(clock))) if len(clock) > 1 else np.inf
    in_milliseconds = first >= _MILLISECONDS[0] and last < _MILLISECONDS[1]
    if first >= _EARLIEST and last < _LATEST and step >= _SECOND and not in_milliseconds:
        return
    rule = (
        "whole numbers of closed_at must be microseconds since 1970 UTC, bars a second or more "
        "apart, in 1900 to 2200 and not all in early 1970"
    )
    raise DataError(rule, was=f"{first} … {last}", where="closed_at", remedy=_REMEDY)
