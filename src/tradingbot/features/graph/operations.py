"""The functions that nodes name: elementwise, over windows of rows, and across symbols.

Each value must depend on its own column and window only, with a fixed order of operations, so
that one row at a time and many rows at once give the same bits. Formulae belong to the features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
ElementwiseFunction = Callable[..., Any]  # (*arguments, out) like a NumPy ufunc
WindowFunction = Callable[[Array, int, Array], None]  # (rows (R + bars - 1, N), bars, out (R, N))

SINGLE = "single"  # the one elementwise function whose result is float32

_DAYS_PER_WEEK = 7
_DAY_SIN = np.sin(2 * np.pi * np.arange(_DAYS_PER_WEEK) / _DAYS_PER_WEEK)
_DAY_COS = np.cos(2 * np.pi * np.arange(_DAYS_PER_WEEK) / _DAYS_PER_WEEK)


def _divide_or(numerator: Array, denominator: Array, otherwise: float, out: Array) -> None:
    """Divide; where the denominator is 0 give `otherwise`, but keep the numerator's NaN."""
    np.divide(numerator, denominator, out=out)
    if not denominator.all():
        zero = np.equal(denominator, 0.0)
        np.copyto(out, np.multiply(numerator, 0.0) + otherwise, where=zero)


def _log_ratio(numerator: Array, denominator: Array, out: Array) -> None:
    """Take log(numerator / denominator); 0 where either is 0, NaN where either is NaN."""
    np.divide(numerator, denominator, out=out)
    if not (numerator.all() and denominator.all()):
        zero = np.logical_or(np.equal(numerator, 0.0), np.equal(denominator, 0.0))
        unity = np.multiply(numerator, 0.0) + np.multiply(denominator, 0.0) + 1.0
        np.copyto(out, unity, where=zero)
    np.log(out, out=out)


def _single(x: Array, out: Array) -> None:
    """Round to float32: enough to rank by, at half the memory traffic."""
    np.copyto(out, x, casting="same_kind")


def _fill(x: Array, value: float, out: Array) -> None:
    np.copyto(out, x)
    np.copyto(out, value, where=np.isnan(x))


def _day_sin(weekday: Array, out: Array) -> None:
    np.take(_DAY_SIN, weekday.astype(np.int64), out=out, mode="clip")


def _day_cos(weekday: Array, out: Array) -> None:
    np.take(_DAY_COS, weekday.astype(np.int64), out=out, mode="clip")


def _squash(x: Array, out: Array) -> None:
    """Map the real line to (−1, 1) by x / √(1 + x²): correctly rounded steps only."""
    np.multiply(x, x, out=out)
    np.add(out, 1.0, out=out)
    np.sqrt(out, out=out)
    np.divide(x, out, out=out)


ELEMENTWISE: Mapping[str, ElementwiseFunction] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "absolute": np.abs,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "log1p": np.log1p,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "exceeds": np.greater,  # 1 where a > b, else 0, also where undefined
    SINGLE: _single,
    "divide_or": _divide_or,
    "log_ratio": _log_ratio,
    "fill": _fill,
    "day_sin": _day_sin,
    "day_cos": _day_cos,
    "squash": _squash,
}


@cache
def _powers(bars: int) -> tuple[int, ...]:
    """Powers of two that add up to `bars`, largest first."""
    return tuple(1 << bit for bit in reversed(range(bars.bit_length())) if bars >> bit & 1)


def _pairs(level: Array, size: int, length: int) -> tuple[Array, Array]:
    """Neighbouring runs of `size` rows to be merged; for one row of output only those it needs."""
    if length == 1:
        even = len(level) // 2 * 2
        return level[0:even:2], level[1:even:2]
    return level[:-size], level[size:]


def _runs(level: Array, offset: int, size: int, length: int) -> Array:
    """The runs of `size` rows that begin `offset` rows after each window does."""
    start = offset // size if length == 1 else offset
    return level[start : start + length]


def _sum(rows: Array, bars: int, out: Array) -> None:
    """Add up by doubling: sums of 1, 2, 4 … rows, then the powers of two that make `bars`."""
    length, powers = len(out), _powers(bars)
    level, size = rows, 1
    levels = {1: rows}
    while size < powers[0]:
        first, second = _pairs(level, size, length)
        level = first + second
        size *= 2
        levels[size] = level
    offset = size
    if len(powers) == 1:
        np.copyto(out, level[:length])
    total = level[:length]
    for size in powers[1:]:
        total = np.add(total, _runs(levels[size], offset, size, length), out=out)
        offset += size


def _deviation(rows: Array, bars: int, out: Array) -> None:
    """Population standard deviation by pairwise merging of sums and squared deviations.

    Exact 0 for a constant window: means of power-of-two parts are then equal bit for bit.

    Source: Chan, Golub, LeVeque, 1983, "Algorithms for computing the sample variance".
    """
    length, powers = len(out), _powers(bars)
    first, second = _pairs(rows, 1, length)
    gap, total, size = first - second, first + second, 2
    squares = gap * gap * 0.5
    levels = {2: (total, squares)}
    if bars % 2:
        levels[1] = rows, np.zeros_like(rows)
    while size < powers[0]:
        first, second = _pairs(total, size, length)
        squares = _merge_squares(first - second, 2.0 * size, *_pairs(squares, size, length))
        total = first + second
        size *= 2
        levels[size] = total, squares
    merged, total, squares = size, total[:length], squares[:length]
    for size in powers[1:]:
        last, last_squares = (_runs(x, merged, size, length) for x in levels[size])
        gap = total * size - last * merged
        squares = _merge_squares(gap, size * merged * (size + merged), squares, last_squares)
        total = total + last
        merged += size
    np.divide(squares, bars, out=out)
    np.sqrt(out, out=out)


def _merge_squares(gap: Array, scale: float, first: Array, second: Array) -> Array:
    """Squared deviations of two runs together: their own plus gap² / scale."""
    np.multiply(gap, gap, out=gap)
    np.divide(gap, scale, out=gap)
    np.add(gap, first, out=gap)
    return np.add(gap, second, out=gap)


def _extremum(pick: np.ufunc) -> WindowFunction:
    def extremum(rows: Array, bars: int, out: Array) -> None:
        if len(out) == 1:
            pick.reduce(rows, axis=0, out=out[0])
            return
        length, size, level = len(out), 1, rows
        while 2 * size <= bars:
            level = pick(level[:-size], level[size:])
            size *= 2
        pick(level[:length], level[bars - size : bars - size + length], out=out)

    return extremum


def _percentile(rows: Array, bars: int, out: Array) -> None:
    """Share of the `bars - 1` earlier values that lie strictly below the current one, in [0, 1].

    NaN where the oldest or the current value is NaN (values are undefined in the warm-up only).
    """
    length = len(out)
    current = rows[bars - 1 :]
    counter = np.uint8 if bars <= 1 << 8 else np.uint16
    if length == 1:
        below = np.less(rows[:-1], current).view(np.uint8).sum(axis=0, dtype=counter)
    else:
        below, mask = np.zeros(out.shape, counter), np.empty(out.shape, np.bool_)
        ones = mask.view(np.uint8)
        for start in range(bars - 1):
            np.less(rows[start : start + length], current, out=mask)
            np.add(below, ones, out=below)
    np.divide(below, float(bars - 1), out=out)
    np.copyto(out, np.nan, where=np.isnan(rows[:length]) | np.isnan(current))


WINDOWED: Mapping[str, WindowFunction] = {
    "sum": _sum,
    "deviation": _deviation,
    "lowest": _extremum(np.minimum),
    "highest": _extremum(np.maximum),
    "percentile": _percentile,
}


def mean_over_symbols(values: Array) -> Array:
    """(R, N) → (R, 1): mean of the defined values of each row, NaN where there are none."""
    defined = ~np.isnan(values)
    totals = np.where(defined, values, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(totals / defined.sum(axis=1, keepdims=True))
