"""Rules that read facts of the trading session: what happened today, and what is known right now.

Each check takes the facts that its rule names, (B,) each. Comparisons say what is good and are then
negated, so that NaN, which is unknown, denies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionRule, namespace_of, slack

HALTED, REDUCING = 2.0, 1.0
"""Numbers of the trading states as `SessionFacts.trading_state` holds them; 0 is active."""


def check_flag(limits: SessionLimits, view: OrderView, flag: Tensor) -> RiskVerdict:
    """Deny unless a fact is 0: a flag that is not up, a count of nothing."""
    return RiskVerdict(~(flag == 0.0), 0.0, flag)


def check_at_most(
    limits: SessionLimits, view: OrderView, fact: Tensor, *, limit: str
) -> RiskVerdict:
    """Deny where a fact is larger in size than its limit."""
    allowed = float(getattr(limits, limit))
    return RiskVerdict(~(abs(fact) <= allowed), allowed, fact)


def check_below(limits: SessionLimits, view: OrderView, fact: Tensor, *, limit: str) -> RiskVerdict:
    """Deny where a fact has reached its limit."""
    allowed = float(getattr(limits, limit))
    return RiskVerdict(~(fact < allowed), allowed, fact)


def check_halted_session(limits: SessionLimits, view: OrderView, state: Tensor) -> RiskVerdict:
    """Deny everything in a session that is halted."""
    return RiskVerdict(~(state < HALTED), HALTED, state)


def check_reducing_only(limits: SessionLimits, view: OrderView, state: Tensor) -> RiskVerdict:
    """Deny what opens in a session that only reduces."""
    return RiskVerdict(~(state < REDUCING), REDUCING, state)


def check_market_open(limits: SessionLimits, view: OrderView, closed: Tensor) -> RiskVerdict:
    """Deny outside the trading session, unless orders may wait for the next one."""
    known = closed == closed
    return RiskVerdict(~known | ((closed != 0.0) & (not limits.queue_when_closed)), 0.0, closed)


def check_auction(limits: SessionLimits, view: OrderView, seconds: Tensor) -> RiskVerdict:
    """Deny what opens too shortly before the close."""
    return RiskVerdict(~(seconds >= limits.auction_cutoff_s), limits.auction_cutoff_s, seconds)


def check_most_units(limits: SessionLimits, view: OrderView) -> RiskVerdict:
    """Deny orders of more units than allowed: fat fingers."""
    size = abs(view.order)
    return RiskVerdict(~(size <= limits.max_quantity_units), limits.max_quantity_units, size)


def check_least_units(limits: SessionLimits, view: OrderView) -> RiskVerdict:
    """Deny orders of fewer units than the venue takes."""
    size = abs(view.order)
    return RiskVerdict(~(size >= limits.min_quantity_units), limits.min_quantity_units, size)


def check_notional(limits: SessionLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that are worth more than allowed, whichever way they go."""
    return RiskVerdict(~(view.value <= limits.max_order_ccy), limits.max_order_ccy, view.value)


def check_message_rate(limits: SessionLimits, view: OrderView, used: Tensor) -> RiskVerdict:
    """Deny where the token bucket has no whole token left."""
    return RiskVerdict(~(used <= limits.message_burst - 1), limits.message_burst - 1, used)


def check_price_age(limits: SessionLimits, view: OrderView, age_s: Tensor) -> RiskVerdict:
    """Deny where the last price is too old; one from the future is no price."""
    fresh = (age_s >= 0.0) & (age_s <= limits.max_price_age_s)
    return RiskVerdict(~fresh, limits.max_price_age_s, age_s)


def check_price_collar(
    limits: SessionLimits, view: OrderView, price: Tensor, last: Tensor
) -> RiskVerdict:
    """Deny where the order's price or the mark is further from the last price than the collar."""
    distance = namespace_of(last).maximum(abs(price / last - 1.0), abs(view.mark / last - 1.0))
    inside = (last > 0.0) & (distance <= limits.price_collar_frac * (1.0 + slack(last)))
    return RiskVerdict(~inside, limits.price_collar_frac, distance)


def check_critical_drawdown(
    limits: SessionLimits, view: OrderView, drawdown_frac: Tensor
) -> RiskVerdict:
    """Deny everything but the whole closing of a position once equity fell that far."""
    limit = limits.critical_drawdown_frac
    closes = (view.units != 0.0) & (abs(view.after) <= slack(view.mark) * abs(view.units))
    return RiskVerdict(~(drawdown_frac < limit) & ~closes, limit, drawdown_frac)


def check_confidence(limits: SessionLimits, view: OrderView, confidence: Tensor) -> RiskVerdict:
    """Deny decisions that are less sure than the limit."""
    return RiskVerdict(~(confidence >= limits.min_confidence), limits.min_confidence, confidence)


def check_shortable(limits: SessionLimits, view: OrderView, unshortable: Tensor) -> RiskVerdict:
    """Deny orders that would leave a short where the venue lends no units."""
    return RiskVerdict(~((unshortable == 0.0) | (view.after >= 0.0)), 0.0, view.after)


def check_volume_share(limits: SessionLimits, view: OrderView, volume: Tensor) -> RiskVerdict:
    """Deny orders that are a large part of what trades in a day."""
    limit, size = limits.max_volume_frac * volume, abs(view.order)
    return RiskVerdict(~(size <= limit * (1.0 + slack(view.mark))), limit, size)


def check_window_value(limits: SessionLimits, view: OrderView, sent_ccy: Tensor) -> RiskVerdict:
    """Deny what, with the orders of the last seconds, is worth too much: a large one cut up."""
    limit, value = limits.max_window_frac * view.equity, sent_ccy + view.value
    return RiskVerdict(~(value <= limit * (1.0 + slack(view.mark))), limit, value)


def check_correlated_exposure(
    limits: SessionLimits, view: OrderView, exposure_frac: Tensor
) -> RiskVerdict:
    """Deny where the order would leave too much in symbols that move together."""
    limit = limits.max_correlated_frac
    return RiskVerdict(~(exposure_frac <= limit * (1.0 + slack(view.mark))), limit, exposure_frac)


def check_gross_exposure(
    limits: SessionLimits, view: OrderView, gross_ccy: Tensor, start_ccy: Tensor
) -> RiskVerdict:
    """Deny where positions and open orders would be worth more than the day's capital allows."""
    limit = limits.max_gross_frac * start_ccy
    return RiskVerdict(~(gross_ccy <= limit * (1.0 + slack(view.mark))), limit, gross_ccy)


def check_net_exposure(limits: SessionLimits, view: OrderView, net_ccy: Tensor) -> RiskVerdict:
    """Deny where long less short would be larger in size than equity allows."""
    limit = limits.max_net_frac * view.equity
    return RiskVerdict(~(abs(net_ccy) <= limit * (1.0 + slack(view.mark))), limit, net_ccy)


def check_leverage(limits: SessionLimits, view: OrderView, gross_ccy: Tensor) -> RiskVerdict:
    """Deny where positions and open orders would be too many times the equity of now."""
    leverage = gross_ccy / view.equity
    allowed = limits.max_leverage * (1.0 + slack(view.mark))
    return RiskVerdict(~((leverage <= allowed) & (view.equity > 0.0)), allowed, leverage)


def check_buying_power(limits: SessionLimits, view: OrderView, power_ccy: Tensor) -> RiskVerdict:
    """Deny orders that the venue would refuse for want of buying power."""
    opened = namespace_of(view.mark).minimum(abs(view.order), abs(view.after)) * view.mark
    return RiskVerdict(~(opened <= power_ccy * (1.0 + slack(view.mark))), power_ccy, opened)


def check_open_orders(limits: SessionLimits, view: OrderView, waiting_ccy: Tensor) -> RiskVerdict:
    """Deny where open orders and this one are worth too much: each counts once it is sent."""
    limit, value = limits.max_open_order_frac * view.equity, waiting_ccy + view.value
    return RiskVerdict(~(value <= limit * (1.0 + slack(view.mark))), limit, value)


_C = SessionDenial


def _always(
    code: SessionDenial, facts: tuple[str, ...], check: Callable[..., RiskVerdict], limit: str = ""
) -> SessionRule:
    """Return a rule that judges orders that reduce as well: a mistake is as likely in those."""
    return SessionRule(code, facts, check, judges_reducing=True, limit=limit)


def _opening(
    code: SessionDenial, facts: tuple[str, ...], check: Callable[..., RiskVerdict], limit: str = ""
) -> SessionRule:
    """Return a rule that lets orders pass that only reduce."""
    return SessionRule(code, facts, check, limit=limit)


def _at_most(code: SessionDenial, fact: str, limit: str) -> SessionRule:
    return _opening(code, (fact,), partial(check_at_most, limit=limit), limit)


def _below(code: SessionDenial, fact: str, limit: str) -> SessionRule:
    return _opening(code, (fact,), partial(check_below, limit=limit), limit)


_PRICES = ("limit_price", "last_price")
_GROSS = ("gross_exposure_ccy", "start_equity_ccy")
SESSION_RULES: tuple[SessionRule, ...] = (
    _always(_C.LIMIT_MISSING, ("missing_limits",), check_flag),
    _always(_C.KILL_SWITCH, ("kill_switch",), check_flag),
    _always(_C.SESSION_HALTED, ("trading_state",), check_halted_session),
    _always(_C.ACCOUNT_BLOCKED, ("account_is_blocked",), check_flag),
    _always(_C.SYMBOL_RESTRICTED, ("symbol_is_restricted",), check_flag, "restricted_symbols"),
    _always(_C.ASSET_NOT_TRADABLE, ("asset_is_untradable",), check_flag),
    _always(_C.ASSET_HALTED, ("asset_is_halted",), check_flag),
    _always(_C.MARKET_CLOSED, ("market_is_closed",), check_market_open, "queue_when_closed"),
    _always(_C.DUPLICATE_ORDER, ("order_is_duplicate",), check_flag, "duplicate_window_s"),
    _always(_C.UNANSWERED_ORDER, ("unanswered_orders",), check_flag),
    _always(_C.SELF_CROSS, ("opposite_open_units",), check_flag),
    _always(_C.MAX_QUANTITY, (), check_most_units, "max_quantity_units"),
    _always(_C.MIN_QUANTITY, (), check_least_units, "min_quantity_units"),
    _always(_C.QUANTITY_PRECISION, ("quantity_remainder_units",), check_flag),
    _always(_C.PRICE_TICK, ("price_remainder_ccy",), check_flag),
    _always(_C.ORDER_NOTIONAL, (), check_notional, "max_order_ccy"),
    _always(_C.MESSAGE_RATE, ("messages_used",), check_message_rate, "message_burst"),
    _always(_C.STALE_PRICE, ("last_price_age_s",), check_price_age, "max_price_age_s"),
    _always(_C.PRICE_COLLAR, _PRICES, check_price_collar, "price_collar_frac"),
    _opening(_C.QUOTE_CROSSED, ("quote_is_crossed",), check_flag),
    _at_most(_C.QUOTE_OLD, "quote_age_s", "max_quote_age_s"),
    _at_most(_C.QUOTE_WIDE, "spread_frac", "max_spread_frac"),
    _always(
        _C.PRICE_JUMP,
        ("price_jump_frac",),
        partial(check_at_most, limit="max_price_jump_frac"),
        "max_price_jump_frac",
    ),
    _always(
        _C.CRITICAL_DRAWDOWN, ("drawdown_frac",), check_critical_drawdown, "critical_drawdown_frac"
    ),
    _opening(_C.REDUCING_ONLY, ("trading_state",), check_reducing_only),
    _below(_C.DRAWDOWN, "drawdown_frac", "max_drawdown_frac"),
    _below(_C.DAILY_LOSS, "loss_today_frac", "max_daily_loss_frac"),
    _below(_C.TRADE_COUNT, "trades_today", "max_trades"),
    _opening(
        _C.REPEATED_EXECUTION, ("repeated_executions",), check_flag, "max_repeated_executions"
    ),
    _below(_C.CONSECUTIVE_REJECTS, "rejects_in_a_row", "max_rejects"),
    _opening(_C.OVERFILL, ("overfills",), check_flag),
    _opening(_C.JOURNAL_UNAVAILABLE, ("journal_is_down",), check_flag),
    _at_most(_C.BROKER_DISCONNECTED, "disconnected_s", "max_disconnect_s"),
    _at_most(_C.CLOCK_SKEW, "clock_skew_s", "max_clock_skew_s"),
    _at_most(_C.POSITION_DRIFT, "position_drift_units", "max_drift_units"),
    _opening(_C.MODEL_UNHEALTHY, ("model_is_unhealthy",), check_flag),
    _opening(_C.LOW_CONFIDENCE, ("confidence",), check_confidence, "min_confidence"),
    _opening(_C.AUCTION_CUTOFF, ("seconds_to_close",), check_auction, "auction_cutoff_s"),
    _opening(_C.NOT_SHORTABLE, ("asset_is_unshortable",), check_shortable),
    _below(_C.STOP_LOSS, "position_loss_frac", "stop_loss_frac"),
    _opening(_C.VOLUME_SHARE, ("day_volume_units",), check_volume_share, "max_volume_frac"),
    _opening(_C.NOTIONAL_WINDOW, ("window_value_ccy",), check_window_value, "max_window_frac"),
    _opening(
        _C.CORRELATED_EXPOSURE,
        ("correlated_exposure_frac",),
        check_correlated_exposure,
        "max_correlated_frac",
    ),
    _opening(_C.GROSS_EXPOSURE, _GROSS, check_gross_exposure, "max_gross_frac"),
    _opening(_C.NET_EXPOSURE, ("net_exposure_ccy",), check_net_exposure, "max_net_frac"),
    _opening(_C.LEVERAGE, ("gross_exposure_ccy",), check_leverage, "max_leverage"),
    _opening(_C.BUYING_POWER, ("buying_power_ccy",), check_buying_power),
    _opening(_C.OPEN_ORDERS, ("open_order_value_ccy",), check_open_orders, "max_open_order_frac"),
)
"""In the order in which they are asked; the first denial counts."""
