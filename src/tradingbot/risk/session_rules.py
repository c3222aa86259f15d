"""Rules that read facts of the trading session: what happened today, and what is known right now.

Each check takes the facts that its rule names, (B,) each. Comparisons say what is good and are then
negated, so that NaN, which is unknown, denies.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionRule, slack


def check_duplicate(limits: SessionLimits, view: OrderView, sent: Tensor) -> RiskVerdict:
    """Deny what was sent before, by id or by content: a decision makes one order."""
    return RiskVerdict(~(sent == 0.0), 0.0, sent)


def check_price_age(limits: SessionLimits, view: OrderView, age_s: Tensor) -> RiskVerdict:
    """Deny where the last price is too old; one from the future is no price."""
    fresh = (age_s >= 0.0) & (age_s <= limits.max_price_age_s)
    return RiskVerdict(~fresh, limits.max_price_age_s, age_s)


def check_price_collar(
    limits: SessionLimits, view: OrderView, price: Tensor, last: Tensor
) -> RiskVerdict:
    """Deny where the order's price or the mark is further from the last price than the collar."""
    distance = torch.maximum((price / last - 1.0).abs(), (view.mark / last - 1.0).abs())
    inside = (last > 0.0) & (distance <= limits.price_collar_frac * (1.0 + slack(last)))
    return RiskVerdict(~inside, limits.price_collar_frac, distance)


def check_daily_loss(limits: SessionLimits, view: OrderView, loss_frac: Tensor) -> RiskVerdict:
    """Deny where the loss of the session has reached the limit."""
    limit = limits.max_daily_loss_frac
    return RiskVerdict(~(loss_frac < limit), limit, loss_frac)


def check_trade_count(limits: SessionLimits, view: OrderView, made: Tensor) -> RiskVerdict:
    """Deny where as many trades as allowed were made."""
    return RiskVerdict(~(made < limits.max_trades), limits.max_trades, made)


def check_confidence(limits: SessionLimits, view: OrderView, confidence: Tensor) -> RiskVerdict:
    """Deny decisions that are less sure than the limit."""
    return RiskVerdict(~(confidence >= limits.min_confidence), limits.min_confidence, confidence)


def check_correlated_exposure(
    limits: SessionLimits, view: OrderView, exposure_frac: Tensor
) -> RiskVerdict:
    """Deny where the order would leave too much in symbols that move together."""
    limit = limits.max_correlated_frac
    return RiskVerdict(~(exposure_frac <= limit * (1.0 + slack(view.mark))), limit, exposure_frac)


def check_open_orders(limits: SessionLimits, view: OrderView, waiting_ccy: Tensor) -> RiskVerdict:
    """Deny where open orders and this one are worth too much: each counts once it is sent."""
    limit, value = limits.max_open_order_frac * view.equity, waiting_ccy + view.value
    return RiskVerdict(~(value <= limit * (1.0 + slack(view.mark))), limit, value)


_C = SessionDenial
SESSION_RULES: tuple[SessionRule, ...] = (
    # A mistake is as likely in an order that reduces: the first three judge those too.
    SessionRule(_C.DUPLICATE_ORDER, ("order_is_duplicate",), check_duplicate, judges_reducing=True),
    SessionRule(_C.STALE_PRICE, ("last_price_age_s",), check_price_age, judges_reducing=True),
    SessionRule(
        _C.PRICE_COLLAR, ("limit_price", "last_price"), check_price_collar, judges_reducing=True
    ),
    SessionRule(_C.DAILY_LOSS, ("loss_today_frac",), check_daily_loss),
    SessionRule(_C.TRADE_COUNT, ("trades_today",), check_trade_count),
    SessionRule(_C.LOW_CONFIDENCE, ("confidence",), check_confidence),
    SessionRule(_C.CORRELATED_EXPOSURE, ("correlated_exposure_frac",), check_correlated_exposure),
    SessionRule(_C.OPEN_ORDERS, ("open_order_value_ccy",), check_open_orders),
)
"""In the order in which they are asked; the first denial counts."""
