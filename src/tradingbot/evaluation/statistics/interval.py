"""An estimate with the ends of its confidence interval: what every figure with an error is."""

from __future__ import annotations

from typing import NamedTuple


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
