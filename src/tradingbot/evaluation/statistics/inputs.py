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
_CHUNK_NUMBERS = 4_000_000
_RELATIVE_SPREAD = 1e-14
"""A spread below this share of the largest number is rounding, not movement."""

SMALLEST = 1e-290
"""Nothing that is measured is as small: what is smaller counts as none, since it has no digits."""


def finite_series(numbers: ArrayLike, name: str, *, at_least: int = 0) -> FloatArray:
    """Return a (T,) series of finite numbers.

    Raises:
        DataError: If it is not one series, too short, or holds NaN or an infinity (names where).
    """
    return _finite_array(numbers, name, 1, at_least)


def finite_matrix(numbers: ArrayLike, name: str, *, at_least: int = 0) -> FloatArray:
    """Return a (T, N) matrix of finite numbers with one column or more.

    Raises:
        DataError: If it is not a matrix, has no column, too few rows, or holds NaN or an infinity
            (names the column).
    """
    return _finite_array(numbers, name, 2, at_least)


def same_length(mine: FloatArray, other: FloatArray, names: str) -> None:
    """Refuse two arrays that do not cover the same bars.

    Raises:
        DataError: Giving both lengths.
    """
    if len(mine) != len(other):
        raise DataError(f"{names} must cover the same bars", was=f"{len(mine)} and {len(other)}")


def chunk_sizes(n_draws: int, numbers_per_draw: int) -> list[int]:
    """Return sizes that keep a chunk within memory; fixed, so that the same seed draws the same."""
    size = max(1, _CHUNK_NUMBERS // max(1, numbers_per_draw))
    return [min(size, n_draws - start) for start in range(0, n_draws, size)]


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
    return np.asarray(reach > _RELATIVE_SPREAD * np.abs(matrix).max(axis=0))


def _finite_array(numbers: ArrayLike, name: str, axes: int, at_least: int) -> FloatArray:
    array = np.asarray(numbers, dtype=np.float64)
    if array.ndim != axes:
        raise DataError(f"{name} must have {axes} axis(es)", was=f"shape {array.shape}")
    if axes == 2 and array.shape[1] == 0:
        raise DataError(f"{name} must have one column or more", was=array.shape)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(int(index) for index in bad[0])
        raise DataError(
            f"{name} must be finite",
            was=f"{array[place]} at {', '.join(map(str, place))} and {len(bad) - 1} more",
            remedy="Cut the period or mend the source; a failed run counts as its loss, not as NaN",
        )
    if len(array) < at_least:
        raise DataError(f"{name} must have {at_least} rows or more", was=len(array))
    return array
