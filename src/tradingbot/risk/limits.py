"""The numbers that orders are judged by: of one order and of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import require_known


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
    max_drawdown_frac: float = bounded(0.15, "(0, 1]")
    """Fall of equity from its highest value at which nothing may be opened any more."""
    critical_drawdown_frac: float = bounded(0.20, "(0, 1]")
    """Fall at which an order must close its position whole."""
    stop_loss_frac: float = bounded(0.05, "(0, inf)")
    """Loss of a position, of its entry price, from which on it may not be increased."""
    max_quantity_units: float = bounded(1e6, "(0, inf)")
    """Units of one order, at most."""
    min_quantity_units: float = bounded(1e-9, "(0, inf)")
    """Units of one order, at least."""
    max_order_ccy: float = bounded(1e6, "(0, inf)")
    """Value of one order, at most; of any order, also of one that reduces."""
    max_window_frac: float = bounded(2.0, "(0, inf)")
    """Value of all orders of the last `window_s` seconds, this one included, of equity."""
    window_s: float = bounded(60.0, "(0, inf)")
    """Seconds that values and executions are added up over."""
    max_volume_frac: float = bounded(0.05, "(0, 1]")
    """Units of one order, of the mean volume of a day."""
    max_gross_frac: float = bounded(1.0, "(0, inf)")
    """Value of long and short positions with all open orders, of the equity of the day's start."""
    max_net_frac: float = bounded(1.0, "(0, inf)")
    """Value of long less short positions with all open orders, in size, of equity."""
    max_leverage: float = bounded(2.0, "(0, inf)")
    """Value of long and short positions with all open orders, in multiples of equity."""
    messages_per_s: float = bounded(3.0, "(0, inf)")
    """Orders sent per second, in the long run; cancels are never held back."""
    message_burst: int = bounded(200, ">= 1")
    """Orders sent at once."""
    max_throttled: int = bounded(100, ">= 1")
    """Orders denied by the message rate, without one that passes, that trip the breaker."""
    duplicate_window_s: float = bounded(5.0, "[0, inf)")
    """Seconds within which the same content is a duplicate, whatever its id."""
    max_repeated_executions: int = bounded(10, ">= 1")
    """Executions of one symbol and side within `window_s`; one more trips the breaker."""
    max_rejects: int = bounded(5, ">= 1")
    """Rejections by the venue in a row that trip the breaker."""
    max_price_jump_frac: float = bounded(0.5, "(0, inf)")
    """Change from one price to the next beyond which neither is traded on."""
    max_disconnect_s: float = bounded(10.0, "[0, inf)")
    """Seconds since the venue was last heard."""
    max_clock_skew_s: float = bounded(1.0, "[0, inf)")
    """Distance of our clock from the venue's."""
    max_drift_units: float = bounded(0.0, "[0, inf)")
    """Distance of our position from the venue's."""
    auction_cutoff_s: float = bounded(60.0, "[0, inf)")
    """Seconds before the close, or the early close of a half day, in which nothing is opened."""
    queue_when_closed: bool = True
    """Whether an order may wait for the next opening; else it is denied while the market is
    closed."""
    restricted_symbols: tuple[str, ...] = ()
    """Symbols that are not traded at all."""
    max_spread_frac: float = bounded(0.02, "(0, inf)")
    """Ask less bid, of the price between them, beyond which no market order is sent."""
    max_quote_age_s: float = bounded(60.0, "(0, inf)")
    """Seconds after which a quote says nothing of what a market order would cost."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "critical_drawdown_frac must not be below max_drawdown_frac"
        require(self.critical_drawdown_frac >= self.max_drawdown_frac, rule, self)
        rule = "min_quantity_units must not exceed max_quantity_units"
        require(self.min_quantity_units <= self.max_quantity_units, rule, self)


def split_limits(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Tell limits of one order (`RiskLimits`) from limits of a session (`SessionLimits`) by name.

    Raises:
        ConfigError: If a name is neither; names the closest.
    """
    of_order = [each.name for each in fields(RiskLimits)]
    known = [*(each.name for each in fields(SessionLimits)), *of_order]
    for name in given:
        require_known(name, known, "--limit must be one of a session or of an order")
    order = {name: value for name, value in given.items() if name in of_order}
    return order, {name: value for name, value in given.items() if name not in of_order}


SESSION_RISK = RiskLimits(max_position_frac=0.10)
"""Limits of one order against the whole account of a session."""
WIDEST_ORDER_LIMITS = RiskLimits(
    max_position_frac=1.0,
    max_order_frac=1e9,
    min_trade_ccy=0.0,
    allow_short=True,
    max_stale_bars=2**30,
)
"""Limits of one order that deny next to nothing: rules of the symbols' own accounts decide."""
WIDEST_SESSION_LIMITS = SessionLimits(
    max_daily_loss_frac=1.0,
    max_trades=10**9,
    min_confidence=0.0,
    max_correlated_frac=1e12,
    price_collar_frac=1.0,
    max_spread_frac=1e12,
    max_quote_age_s=1e12,
    max_price_age_s=1e12,
    max_open_order_frac=1e12,
    max_drawdown_frac=1.0,
    critical_drawdown_frac=1.0,
    stop_loss_frac=1e12,
    max_quantity_units=1e12,
    max_order_ccy=1e12,
    max_window_frac=1e12,
    max_volume_frac=1.0,
    max_gross_frac=1e12,
    max_net_frac=1e12,
    max_leverage=1e12,
    messages_per_s=1e9,
    message_burst=10**9,
    duplicate_window_s=0.0,
    max_repeated_executions=10**9,
    max_price_jump_frac=1e12,
    auction_cutoff_s=0.0,
)
"""Limits of a session that deny next to nothing, to compare a session with a backtest.

Orders of more than a day's volume are still denied, and everything that is unknown."""
