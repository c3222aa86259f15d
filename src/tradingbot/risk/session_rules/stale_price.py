"""No order on a price that is too old."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where the last price is older than the limit, in seconds."""
    age = facts.last_price_age_s
    assert age is not None
    fresh = (age >= 0.0) & (age <= limits.max_price_age_s)  # a price from the future is none
    return RiskVerdict(~fresh, limits.max_price_age_s, age)


RULE = SessionRule(SessionDenial.STALE_PRICE, ("last_price_age_s",), check, judges_reducing=True)
