"""The numbers that orders are judged by: of one order and of a session."""

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
    """Smallest order that is sent; smaller ones are denied."""
    allow_short: bool = False
    """Whether a position may be negative."""
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


@dataclass(frozen=True)
class SessionLimits:
    """Limits of one trading session, beyond those of a single order."""

    max_daily_loss_frac: float = 0.02
    """Loss since the session began, of the equity it began with."""
    max_trades: int = 100
    """Trades of one session."""
    min_confidence: float = 0.6
    max_correlated_frac: float = 0.7
    """Gross exposure in symbols that move together, of equity."""
    price_collar_frac: float = 0.05
    """How far a price may be from the last one."""
    max_price_age_s: float = 90.0
    """Seconds after which the last price is too old to trade on."""
    max_open_order_frac: float = 0.3
    """Value of orders that may still fill, this one included, of equity."""

    def __post_init__(self) -> None:
        require_kinds(self)
        frac = "must lie in (0, 1]"
        require(0.0 < self.max_daily_loss_frac <= 1.0, f"max_daily_loss_frac {frac}", self)
        require(self.max_trades >= 0, "max_trades must be 0 or more", self)
        require(0.0 <= self.min_confidence <= 1.0, "min_confidence must lie in [0, 1]", self)
        require(
            0.0 < self.max_correlated_frac < math.inf, "max_correlated_frac must be above 0", self
        )
        require(0.0 < self.price_collar_frac <= 1.0, f"price_collar_frac {frac}", self)
        require(0.0 <= self.max_price_age_s < math.inf, "max_price_age_s must be 0 or more", self)
        require(
            0.0 < self.max_open_order_frac < math.inf, "max_open_order_frac must be above 0", self
        )
