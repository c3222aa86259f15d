"""The functions that nodes name: elementwise, over windows of rows, and across symbols.

Each value must depend on its own column and window only, with a fixed order of operations, so
that one row at a time and many rows at once give the same bits. Formulae belong to the features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    zero = np.equal(denominator, 0.0)
    if zero.any():
        np.copyto(out, np.multiply(numerator, 0.0) + otherwise, where=zero)


def _log_ratio(numerator: Array, denominator: Array, out: Array) -> None:
    """Take log(numerator / denominator); 0 where either is 0, NaN where either is NaN."""
    np.divide(numerator, denominator, out=out)
    zero = np.logical_or(np.equal(numerator, 0.0), np.equal(denominator, 0.0))
    if zero.any():
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


def _halves(bars: int) -> list[int]:
    """Powers of two that add up to `bars`, largest first."""
    return [1 << bit for bit in reversed(range(bars.bit_length())) if bars >> bit & 1]


def _sum(rows: Array, bars: int, out: Array) -> None:
    """Add up by doubling: sums of 1, 2, 4 … rows, then the powers of two that make `bars`."""
    length, parts = len(out), _halves(bars)
    partial, size, sums = rows, 1, {}
    while True:
        if size in parts:
            sums[size] = partial
        if size == parts[0]:
            break
        partial = partial[:-size] + partial[size:]
        size *= 2
    offset = parts[0]
    np.copyto(out, sums[offset][:length])
    for part in parts[1:]:
        np.add(out, sums[part][offset : offset + length], out=out)
        offset += part


def _mean(rows: Array, bars: int, out: Array) -> None:
    _sum(rows, bars, out)
    np.divide(out, bars, out=out)


def _deviation(rows: Array, bars: int, out: Array) -> None:
    """Population standard deviation by pairwise merging of sums and squared deviations.

    Exact 0 for a constant window: means of power-of-two parts are then equal bit for bit.

    Source: Chan, Golub, LeVeque, 1983, "Algorithms for computing the sample variance".
    """
    length, parts = len(out), _halves(bars)
    total, squares, size = rows, np.zeros_like(rows), 1
    kept: dict[int, tuple[Array, Array]] = {}
    while True:
        if size in parts:
            kept[size] = total, squares
        if size == parts[0]:
            break
        gap = total[:-size] - total[size:]
        np.multiply(gap, gap, out=gap)
        np.multiply(gap, 1.0 / (2 * size), out=gap)
        squares = squares[:-size] + squares[size:]
        np.add(squares, gap, out=squares)
        total = total[:-size] + total[size:]
        size *= 2
    merged, (total, squares) = parts[0], (part[:length] for part in kept[parts[0]])
    for size in parts[1:]:
        last_total, last_squares = (x[merged : merged + length] for x in kept[size])
        gap = total * size - last_total * merged
        np.multiply(gap, gap, out=gap)
        np.divide(gap, float(size * merged * (size + merged)), out=gap)
        squares = squares + last_squares + gap
        total = total + last_total
        merged += size
    np.divide(squares, bars, out=out)
    np.sqrt(out, out=out)


def _extremum(pick: np.ufunc) -> WindowFunction:
    def extremum(rows: Array, bars: int, out: Array) -> None:
        length, size, partial = len(out), 1, rows
        while 2 * size <= bars:
            partial = pick(partial[:-size], partial[size:])
            size *= 2
        pick(partial[:length], partial[bars - size : bars - size + length], out=out)

    return extremum


def _percentile(rows: Array, bars: int, out: Array) -> None:
    """Share of the `bars - 1` earlier values that lie strictly below the current one, in [0, 1].

    NaN where the oldest or the current value is NaN (values are undefined in the warm-up only).
    """
    length = len(out)
    current = rows[bars - 1 :]
    if length == 1:
        below = np.less(rows[:-1], current).view(np.uint8).sum(axis=0, dtype=np.uint16)[None]
    else:
        below, mask = np.zeros(out.shape, np.uint16), np.empty(out.shape, np.bool_)
        for first in range(0, bars - 1, 255):  # a byte counts up to 255
            count = np.zeros(out.shape, np.uint8)
            for start in range(first, min(first + 255, bars - 1)):
                np.less(rows[start : start + length], current, out=mask)
                np.add(count, mask.view(np.uint8), out=count)
            np.add(below, count, out=below)
    np.divide(below, float(bars - 1), out=out)
    np.copyto(out, np.nan, where=np.isnan(rows[:length]) | np.isnan(current))


WINDOWED: Mapping[str, WindowFunction] = {
    "sum": _sum,
    "mean": _mean,
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
