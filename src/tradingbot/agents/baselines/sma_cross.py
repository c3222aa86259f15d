"""Two moving averages: long while the fast one lies above the slow one, else short."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.agents.baselines.price_history import (
    FloatArray,
    carry_forward,
    moving_mean,
    sign_or_flat,
)
from tradingbot.agents.baselines.target_table import TargetTable, table_of
from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class CrossConfig:
    """Lengths of the two means."""

    fast_bars: int = 20
    slow_bars: int = 50

    def __post_init__(self) -> None:
        """Refuse means that do not differ."""
        require_kinds(self)
        require(1 <= self.fast_bars < self.slow_bars, "fast_bars must be below slow_bars", self)


def cross_targets(closes: FloatArray, config: CrossConfig | None = None) -> FloatArray:
    """Return −1, 0 or 1 for each symbol and bar (N, T); 0 until both means are there."""
    config, known = config or CrossConfig(), carry_forward(closes)
    return sign_or_flat(moving_mean(known, config.fast_bars) - moving_mean(known, config.slow_bars))


def sma_cross(closes: FloatArray, config: CrossConfig | None = None) -> TargetTable:
    """Return the crossing rule on closes (N, T), NaN where there is no bar, as a policy."""
    return table_of(cross_targets(closes, config))
