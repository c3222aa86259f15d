"""What may be measured: finite numbers, in order, enough of them. Measuring itself lives elsewhere.

One policy for the package: a NaN or an infinity *inside* an input is an error that names its place;
a figure that is not *defined* (no spread, too few numbers for a spread) is NaN, never infinite.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import ConfigError, DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NORMAL = NormalDist()
_RELATIVE_SPREAD = 1e-14
"""A spread below this share of the largest number is rounding, not movement."""

SMALLEST = 1e-290
"""Nothing that is measured is as small: what is smaller counts as none, since it has no digits."""


def finite_series(numbers: ArrayLike, name: str, *, at_least: int = 0) -> FloatArray:
    """Return a (T,) series of finite numbers.

    Raises:
        DataError: If it is not one series, too short, or holds NaN or an infinity (names where).
    """
    series = np.asarray(numbers, dtype=np.float64)
    _require_axes(series, name, 1)
    _require_finite(series, name)
    _require_length(len(series), name, at_least)
    return series


def finite_matrix(numbers: ArrayLike, name: str, *, at_least: int = 0) -> FloatArray:
    """Return a (T, N) matrix of finite numbers with one column or more.

    Raises:
        DataError: If it is not a matrix, has no column, too few rows, or holds NaN or an infinity
            (names the column).
    """
    matrix = np.asarray(numbers, dtype=np.float64)
    _require_axes(matrix, name, 2)
    if matrix.shape[1] == 0:
        raise DataError(f"{name} must have one column or more", was=matrix.shape)
    _require_finite(matrix, name)
    _require_length(len(matrix), name, at_least)
    return matrix


def require_share(number: float, name: str) -> float:
    """Return a number that lies strictly between 0 and 1.

    Raises:
        ConfigError: If it does not.
    """
    if not 0.0 < number < 1.0:
        raise ConfigError(f"{name} must lie between 0 and 1, both excluded", was=number)
    return number


def require_count(number: int, name: str, *, at_least: int = 1) -> int:
    """Return a whole number that is large enough.

    Raises:
        ConfigError: If it is not.
    """
    if number != int(number) or number < at_least:
        raise ConfigError(f"{name} must be a whole number of {at_least} or more", was=number)
    return int(number)


def spread_of(series: FloatArray) -> float:
    """Return the standard deviation (divided by T − 1); NaN where nothing moves or T < 2."""
    if len(series) < 2:
        return math.nan
    largest = float(np.abs(series).max())
    if largest < SMALLEST:
        return math.nan
    # Scaled first, so that squares neither vanish nor overflow.
    spread = float((series / largest).std(ddof=1))
    return spread * largest if spread > _RELATIVE_SPREAD else math.nan


def moves(matrix: FloatArray) -> NDArray[np.bool_]:
    """Tell which columns of (T, N) move by more than rounding."""
    reach = matrix.max(axis=0) - matrix.min(axis=0)
    moving: NDArray[np.bool_] = reach > _RELATIVE_SPREAD * np.abs(matrix).max(axis=0)
    return moving


def _require_axes(numbers: FloatArray, name: str, axes: int) -> None:
    if numbers.ndim != axes:
        raise DataError(f"{name} must have {axes} axis(es)", was=f"shape {numbers.shape}")


def _require_finite(numbers: FloatArray, name: str) -> None:
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        place = tuple(int(index) for index in bad[0])
        raise DataError(
            f"{name} must be finite",
            was=f"{numbers[place]} at {', '.join(map(str, place))} and {len(bad) - 1} more",
            remedy="Cut the period or mend the source; a failed run counts as its loss, not as NaN",
        )


def _require_length(length: int, name: str, at_least: int) -> None:
    if length < at_least:
        raise DataError(f"{name} must have {at_least} rows or more", was=length)
