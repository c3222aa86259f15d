"""The numbers that orders are judged by: of one order and of a session."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class RiskLimits(CheckedFields):
    """Pre-trade limits of one account."""

    max_position_frac: float = bounded(0.15, "(0, 1]")
    """Largest position, of equity; 1 for a sleeve that holds one symbol only."""
    max_order_frac: float = bounded(1.0, "(0, inf)")
    """Largest single order, of equity; of one that turns a position, the part that opens."""
    reserve_frac: float = bounded(0.0, "[0, 1)")
    """Cash that buys must leave, of equity."""
    min_trade_ccy: float = bounded(25.0, "[0, inf)")
    """Smallest order that is sent; smaller ones are denied."""
    allow_short: bool = False
    """Whether a position may be negative."""
    margin_frac: float = bounded(1.5, "(1, inf)")
    """Cash (with the proceeds) that opening a short needs, of the short's value."""
    max_stale_bars: int = bounded(0, ">= 0")
    """Bars without a trade beyond which no position may be opened or increased."""


@dataclass(frozen=True)
class SessionLimits(CheckedFields):
    """Limits of one trading session, beyond those of a single order."""

    max_daily_loss_frac: float = bounded(0.02, "(0, 1]")
    """Loss since the session began, of the equity it began with."""
    max_trades: int = bounded(100, ">= 0")
    """Trades of one session."""
    min_confidence: float = bounded(0.6, "[0, 1]")
    max_correlated_frac: float = bounded(0.7, "(0, inf)")
    """Gross exposure in symbols that move together, of equity."""
    price_collar_frac: float = bounded(0.05, "(0, 1]")
    """How far a price may be from the last one."""
    max_price_age_s: float = bounded(90.0, "[0, inf)")
    """Seconds after which the last price is too old to trade on."""
    max_open_order_frac: float = bounded(0.3, "(0, inf)")
    """Value of orders that may still fill, this one included, of equity."""
