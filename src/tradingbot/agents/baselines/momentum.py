"""Time-series momentum: long what rose over the lookback, short what fell.

Source: Moskowitz, Ooi and Pedersen, 2012, Time series momentum; twelve months there. Without their
scaling by volatility: a sleeve is as large as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradingbot.agents.baselines.price_history import FloatArray, carry_forward, sign_or_flat
from tradingbot.agents.baselines.target_table import TargetTable, table_of
from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class MomentumConfig:
    """How far back momentum looks."""

    lookback_bars: int = 1_764
    """Twelve months of hourly bars."""

    def __post_init__(self) -> None:
        """Refuse a lookback of nothing."""
        require_kinds(self)
        require(self.lookback_bars >= 1, "lookback_bars must be 1 or more", self)


QUARTER = MomentumConfig(lookback_bars=441)
"""Three months of hourly bars, for data that hold little more than a year."""


def momentum_targets(closes: FloatArray, config: MomentumConfig | None = None) -> FloatArray:
    """Return −1, 0 or 1 for each symbol and bar (N, T); 0 until the lookback is there."""
    lookback, known = (config or MomentumConfig()).lookback_bars, carry_forward(closes)
    change = np.full_like(known, np.nan)
    change[:, lookback:] = known[:, lookback:] / known[:, :-lookback] - 1.0
    return sign_or_flat(change)


def momentum(closes: FloatArray, config: MomentumConfig | None = None) -> TargetTable:
    """Return momentum on closes (N, T), NaN where there is no bar, as a policy."""
    return table_of(momentum_targets(closes, config))
