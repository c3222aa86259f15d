"""The sign of MACD: long while the fast exponential mean of closes lies above the slow one.

Source: Appel, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradingbot.agents.baselines.price_history import (
    FloatArray,
    carry_forward,
    exponential_mean,
    sign_or_flat,
)
from tradingbot.agents.baselines.target_table import TargetTable, table_of
from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class MacdConfig:
    """Spans of the two means."""

    fast_bars: int = 12
    slow_bars: int = 26

    def __post_init__(self) -> None:
        """Refuse means that do not differ."""
        require_kinds(self)
        require(1 <= self.fast_bars < self.slow_bars, "fast_bars must be below slow_bars", self)


def macd_targets(closes: FloatArray, config: MacdConfig | None = None) -> FloatArray:
    """Return −1, 0 or 1 for each symbol and bar (N, T); 0 for the first `slow_bars` closes."""
    config, known = config or MacdConfig(), carry_forward(closes)
    gap = exponential_mean(known, config.fast_bars) - exponential_mean(known, config.slow_bars)
    young = np.cumsum(np.isfinite(known), axis=1) < config.slow_bars
    return sign_or_flat(np.where(young, np.nan, gap))


def macd(closes: FloatArray, config: MacdConfig | None = None) -> TargetTable:
    """Return the sign of MACD on closes (N, T), NaN where there is no bar, as a policy."""
    return table_of(macd_targets(closes, config))
