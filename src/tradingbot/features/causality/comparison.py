"""Bit-for-bit comparison of what was claimed with what came out when the future was different."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def differs(expected: NDArray[Any], got: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the elements whose bits differ.

    -0.0 differs from 0.0. Two NaN are equal whatever their payload: arithmetic does not fix the
    payload, and no price can be read out of it.

    Args:
        expected: Any shape; boolean, integer, float or time.
        got: Same shape and dtype.
    """
    if expected.dtype.itemsize not in _WORD or expected.dtype.hasobject:
        return np.asarray(expected != got, dtype=bool)
    word = _WORD[expected.dtype.itemsize]
    marked: NDArray[np.bool_] = expected.view(word) != got.view(word)
    if expected.dtype.kind == "f" and marked.any():
        marked &= ~(np.isnan(expected) & np.isnan(got))
    return marked


def defined_count(values: NDArray[Any]) -> int:
    """Number of elements that are not NaN."""
    if values.dtype.kind == "f":
        return int(values.size - np.count_nonzero(np.isnan(values)))
    return int(values.size)


def is_constant(values: NDArray[Any]) -> bool:
    """Tell whether all elements are the same: such an output can carry no information."""
    return (
        values.size == 0 or not differs(values, np.broadcast_to(values.flat[0], values.shape)).any()
    )
