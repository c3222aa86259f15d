"""Every order counts from the moment it is sent."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule, slack


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where open orders and this one are worth more than the limit, in account currency."""
    waiting = facts.open_order_value_ccy
    assert waiting is not None
    limit, value = limits.max_open_order_frac * view.equity, waiting + view.value
    return RiskVerdict(~(value <= limit * (1.0 + slack(value))), limit, value)


RULE = SessionRule(SessionDenial.OPEN_ORDERS, ("open_order_value_ccy",), check)
