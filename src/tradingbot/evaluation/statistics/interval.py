"""An estimate with the ends of its confidence interval: every figure with an error, and a share."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradingbot.domain.errors import DataError

Z = 1.959963984540054  # 97.5 % point of the normal distribution


class Interval(NamedTuple):
    """An estimate with the ends of its 95 % confidence interval."""

    estimate: float
    low: float
    high: float

    def covers(self, number: float) -> bool:
        """Tell whether a number lies within the ends."""
        return self.low <= number <= self.high

    def scaled(self, factor: float) -> Interval:
        """Multiply by a positive factor."""
        return Interval(self.estimate * factor, self.low * factor, self.high * factor)


def wilson_interval(successes: float, n: float, *, point: float = Z) -> Interval:
    """Return a share with its 95 % interval.

    Args:
        successes: 0 … n.
        n: Draws, more than 0; not whole where dependent ones count as fewer.
        point: Standard errors to either side.

    Raises:
        DataError: If there is no draw, or there are more successes than draws.

    Source: Wilson (1927), without continuity correction.
    """
    if not n > 0 or not 0.0 <= successes <= n:
        raise DataError("a share must be of 0 … n successes in n draws", was=f"{successes} of {n}")
    share, square = successes / n, point * point
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = point / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    # The ends are exact where all or none succeed; rounding must not push them past the share.
    return Interval(share, min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share))
