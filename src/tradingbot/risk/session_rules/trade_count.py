"""A session makes so many trades and no more."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where as many trades as allowed were made."""
    made = facts.trades_today
    assert made is not None
    return RiskVerdict(~(made < limits.max_trades), limits.max_trades, made)


RULE = SessionRule(SessionDenial.TRADE_COUNT, ("trades_today",), check)
