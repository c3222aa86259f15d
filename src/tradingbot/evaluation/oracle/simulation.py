"""Playing target positions against bars, with the timing every part of the product obeys.

Decide at close t, fill at open t+1, mark at close t+1. Capital per symbol is fixed: returns are
added, never compounded, so the mean is bp per bar and symbol.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.oracle.action_rule import require_cost

FloatArray = NDArray[np.float64]


def simulate_targets(
    opens: FloatArray, closes: FloatArray, targets: FloatArray, *, cost_frac: float
) -> FloatArray:
    """Compute the net simple return of each bar for positions decided one close earlier.

    The position held into bar t earns the gap from close t-1 to open t; there it is changed to
    `targets[t-1]`, pays for the change, and the new position earns open to close.

    Args:
        opens: (T, N) opening prices, > 0.
        closes: (T, N) closing prices, > 0.
        targets: (T, N) position as a fraction of capital, decided at close t, finite.
        cost_frac: Cost per unit of turnover.

    Returns:
        (T, N) net simple return of bar t. Row 0 is 0: nothing was decided before it. The last
        row of `targets` has no bar to act on and is ignored.

    Raises:
        DataError: If shapes differ, a price is not positive or a target is not finite.
    """
    require_cost(cost_frac)
    if not opens.shape == closes.shape == targets.shape or opens.ndim != 2:
        raise DataError(
            "opens, closes and targets must share one (T, N) shape",
            was=f"{opens.shape}, {closes.shape}, {targets.shape}",
        )
    if not (np.all(opens > 0.0) and np.all(closes > 0.0) and np.all(np.isfinite(targets))):
        raise DataError(
            "prices must be positive and targets finite", was="a price ≤ 0, a gap or a NaN target"
        )
    held = held_positions(targets)
    before = np.vstack([np.zeros_like(held[:1]), held[:-1]])
    gaps = np.vstack([np.zeros_like(opens[:1]), opens[1:] / closes[:-1] - 1.0])
    net: FloatArray = before * gaps + held * (closes / opens - 1.0)
    net -= cost_frac * np.abs(held - before)
    return net


def held_positions(targets: FloatArray) -> FloatArray:
    """Positions held from open t to close t: the targets of one bar earlier, flat at first."""
    return np.vstack([np.zeros_like(targets[:1]), targets[:-1]])


def mean_turnover(targets: FloatArray) -> float:
    """Mean absolute change of position per bar and symbol, over bars 1..T-1."""
    return float(np.abs(np.diff(held_positions(targets), axis=0)).mean())
