"""The numbers that orders are judged by, the same in simulation and live."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class RiskLimits:
    """Pre-trade limits of one account."""

    max_position_frac: float = 0.15
    """Largest position, of equity; 1 for a sleeve that holds one symbol only."""
    max_order_frac: float = 1.0
    """Largest single order, of equity."""
    reserve_frac: float = 0.0
    """Cash that buys must leave, of equity."""
    min_trade_ccy: float = 25.0
    allow_short: bool = False
    margin_frac: float = 1.5
    """Cash (with the proceeds) that opening a short needs, of the short's value."""
    max_stale_bars: int = 0
    """Bars without a trade beyond which no position may be opened or increased."""

    def __post_init__(self) -> None:
        require_kinds(self)
        require(0.0 < self.max_position_frac <= 1.0, "max_position_frac must lie in (0, 1]", self)
        require(0.0 < self.max_order_frac < math.inf, "max_order_frac must be above 0", self)
        require(0.0 <= self.reserve_frac < 1.0, "reserve_frac must lie in [0, 1)", self)
        require(0.0 <= self.min_trade_ccy < math.inf, "min_trade_ccy must be 0 or more", self)
        require(1.0 < self.margin_frac < math.inf, "margin_frac must be above 1", self)
        require(self.max_stale_bars >= 0, "max_stale_bars must be 0 or more", self)
