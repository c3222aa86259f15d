"""What environments are made of: bars to trade in, numbers to look at, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class World:
    """N symbols on a common clock of T bars, with everything an observation shows of the market."""

    symbols: tuple[str, ...]
    """N names, in the order of the first axis."""
    prices: NDArray[np.float64]
    """(N, T, 5) open, high, low, close, volume; NaN where there is no bar."""
    present: NDArray[np.bool_]
    """(N, T) there is a bar, and the symbol may be traded (point-in-time membership)."""
    features: FloatArray
    """(N, T, F) technical features, scaled; 0 where undefined."""
    regimes: FloatArray
    """(N, T, R) regime features."""
    probabilities: FloatArray
    """(N, T, 3) supervised probabilities of down, flat, up; 1/3 each without a model."""
    usable: NDArray[np.bool_]
    """(N, T) an episode may begin here: a bar, and every number above is defined."""
    closed_at: NDArray[np.int64]
    """(T,) microseconds since 1970 UTC, rising."""
    feature_names: tuple[str, ...]
    """F names."""
    regime_names: tuple[str, ...]
    """R names."""
    label: str
    """Data, period and seed in words, for everything that prints a number."""
    synthetic: bool
    """Generated, not observed; said wherever a result is shown."""
