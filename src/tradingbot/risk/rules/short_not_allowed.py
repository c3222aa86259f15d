"""A long-only account never owes units."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that would leave fewer than 0 units where shorts are not allowed."""
    denied = (view.after < 0.0) & (not limits.allow_short)
    return RiskVerdict(denied, 0.0, view.after)


RULE = RiskRule(Denial.SHORT_NOT_ALLOWED, check)
