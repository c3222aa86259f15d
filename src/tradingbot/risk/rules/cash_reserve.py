"""Buys leave the reserve untouched."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, slack


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny buys beyond covering a short that would leave less cash than the reserve."""
    limit = limits.reserve_frac * view.equity
    left = view.cash - view.order * view.mark
    buys = (view.order > 0.0) & (view.after > 0.0)
    return RiskVerdict(buys & (left < limit - slack(view.mark) * view.equity), limit, left)


RULE = RiskRule(Denial.CASH_RESERVE, check)
