"""How bad the made-up times are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class StressSettings:
    """Sizes of the disasters, and how long is looked at."""

    crash_frac: float = 0.20
    """What every symbol loses in the crash."""
    crash_bars: int = 5
    """Bars within which it is lost."""
    gap_frac: float = 0.08
    """Size of the overnight gaps, one down and one up."""
    cost_factor: float = 10.0
    """What spread and slippage are multiplied by where liquidity is lost."""
    volume_divisor: float = 20.0
    """What volume is divided by there."""
    volatility_factor: float = 3.0
    """What moves are multiplied by in the wild market."""
    before_bars: int = 35
    """Bars that are traded before a crash or gap, at most."""
    after_bars: int = 140
    """Bars that are traded from there on, at most."""

    def __post_init__(self) -> None:
        """Refuse disasters that are none."""
        require_kinds(self)
        require(0.0 < self.crash_frac < 1.0, "crash_frac must lie in (0, 1)", self)
        require(self.crash_bars >= 1, "crash_bars must be 1 or more", self)
        require(0.0 < self.gap_frac < 1.0, "gap_frac must lie in (0, 1)", self)
        for name in ("cost_factor", "volume_divisor", "volatility_factor"):
            require(1.0 <= getattr(self, name) < math.inf, f"{name} must be 1 or more", self)
        require(self.before_bars >= 1, "before_bars must be 1 or more", self)
        require(self.after_bars > self.crash_bars, "after_bars must go beyond the crash", self)
