"""The functions that nodes name, elementwise and over windows of rows.

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
# (*rows (R + bars - 1, N) of each argument, bars, out (R, N))
WindowFunction = Callable[..., None]

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


def _only_where(x: Array, condition: Array, out: Array) -> None:
    """Give x where the condition is not 0, NaN elsewhere."""
    np.copyto(out, x)
    np.copyto(out, np.nan, where=np.equal(condition, 0.0))


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


_OF_NUMPY = (
    *("add", "subtract", "multiply", "divide", "negative", "absolute"),
    *("sign", "sqrt", "log1p", "maximum", "minimum"),
)
ELEMENTWISE: Mapping[str, ElementwiseFunction] = {
    **{name: getattr(np, name) for name in _OF_NUMPY},
    "exceeds": np.greater,  # 1 where a > b, else 0, also where undefined
    SINGLE: _single,
    "divide_or": _divide_or,
    "log_ratio": _log_ratio,
    "fill": _fill,
    "only_where": _only_where,
    "day_sin": _day_sin,
    "day_cos": _day_cos,
    "squash": _squash,
}


@cache
def _powers(bars: int) -> tuple[int, ...]:
    """Powers of two that add up to `bars`, largest first."""
    return tuple(1 << bit for bit in reversed(range(bars.bit_length())) if bars >> bit & 1)


def _sum(rows: Array, bars: int, out: Array) -> None:
    """Add up runs of powers of two that make `bars`, each by halving: half the run to the other."""
    length, offset, powers = len(out), 0, _powers(bars)
    for size in powers:
        run, half = rows[offset : offset + size + length - 1], size // 2
        while half:
            run = run[:-half] + run[half:]
            half //= 2
        if offset:
            np.add(out, run, out=out)
        else:
            np.copyto(out, run)
        offset += size


def _deviation(rows: Array, bars: int, out: Array) -> None:
    """Population standard deviation by pairwise merging of sums and squared deviations.

    Exact 0 for a constant window: means of power-of-two runs are then equal bit for bit.

    Source: Chan, Golub, LeVeque, 1983, "Algorithms for computing the sample variance".
    """
    length, merged, powers = len(out), 0, _powers(bars)
    for size in powers:
        run, run_squares = _moments(rows[merged : merged + size + length - 1], size)
        if not merged:
            total, squares = run, run_squares
        else:
            gap = total * size - run * merged
            squares = _merge_squares(gap, size * merged * (size + merged), squares, run_squares)
            total = total + run
        merged += size
    np.divide(squares, bars, out=out)
    np.sqrt(out, out=out)


def _moments(run: Array, size: int) -> tuple[Array, Array]:
    """Sums, and sums of squared deviations from the mean, of every `size` rows; a power of two."""
    if size == 1:
        return run, np.zeros_like(run)
    half = size // 2
    gap = run[:-half] - run[half:]
    total, squares = run[:-half] + run[half:], np.multiply(gap, gap, out=gap) * 0.5
    merged, half = 2, half // 2
    while half:
        gap = total[:-half] - total[half:]
        squares = _merge_squares(gap, 2.0 * merged, squares[:-half], squares[half:])
        total = total[:-half] + total[half:]
        merged, half = 2 * merged, half // 2
    return total, squares


def _merge_squares(gap: Array, scale: float, first: Array, second: Array) -> Array:
    """Squared deviations of two runs together: their own plus gap² / scale."""
    np.multiply(gap, gap, out=gap)
    np.divide(gap, scale, out=gap)
    np.add(gap, first, out=gap)
    return np.add(gap, second, out=gap)


def _extremum(pick: np.ufunc) -> WindowFunction:
    def extremum(rows: Array, bars: int, out: Array) -> None:
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


def _matching_mean(rows: Array, keys: Array, bars: int, out: Array) -> None:
    """Mean of the `bars - 1` earlier values whose key is the current one's; 0 where none is."""
    # (bars − 1, R, N): the order in which rows are added is then the same for any R.
    match = np.equal(_windows(keys[:-1], bars - 1), keys[bars - 1 :])
    total = _halved(np.where(match, _windows(rows[:-1], bars - 1), 0.0))
    np.divide(total, np.maximum(match.sum(axis=0), 1), out=out)
    np.copyto(out, np.nan, where=np.isnan(rows[: len(out)]) | np.isnan(keys[bars - 1 :]))


def _windows(rows: Array, bars: int) -> Array:
    """(R + bars − 1, N) → (bars, R, N), a view: row r of every window."""
    if len(rows) == bars:  # one bar at a time: making the general view would cost more than the sum
        return rows[:, None]
    return np.moveaxis(np.lib.stride_tricks.sliding_window_view(rows, bars, axis=0), -1, 0)


def _halved(rows: Array) -> Array:
    """Add up the first axis, half to half; an odd row waits for the next round."""
    while len(rows) > 1:
        half = len(rows) // 2
        added = rows[:half] + rows[half : 2 * half]
        rows = np.concatenate([added, rows[2 * half :]]) if len(rows) % 2 else added
    return np.asarray(rows[0])


WINDOWED: Mapping[str, WindowFunction] = {
    "sum": _sum,
    "deviation": _deviation,
    "lowest": _extremum(np.minimum),
    "highest": _extremum(np.maximum),
    "percentile": _percentile,
    "matching_mean": _matching_mean,
}
