"""One bar of many symbols as a world shows it: scaled by stored scalers, within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.scaling import Scaler

REGIME_BOUND = 1.0
"""Of |regime|; they are bounded by construction."""


def scale_bar(
    scalers: Sequence[Scaler],
    symbols: Sequence[str],
    features: NDArray[Any],
    valid: NDArray[np.bool_],
    *,
    bound: float | None,
) -> NDArray[np.float32]:
    """Scale one bar as the table was scaled.

    Args:
        scalers: Of the columns, in their order.
        symbols: N names.
        features: (N, C) in the units of the features.
        valid: (N,); rows that are not become 0.
        bound: Of |scaled value|; None: none.

    Returns:
        (N, C) float32.
    """
    parts, start = [], 0
    for scaler in scalers:
        names = scaler.feature_names
        columns = features[:, None, start : start + len(names)]
        own = scaler.of_symbols(symbols)
        parts.append(own.transform(columns, valid[:, None], feature_names=names)[:, 0])
        start += len(names)
    scaled = np.concatenate(parts, axis=-1)
    if bound is not None:
        scaled = np.clip(scaled, -bound, bound)
    return np.ascontiguousarray(scaled, dtype=np.float32)
