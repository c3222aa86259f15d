"""A short needs cash beyond its own proceeds."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, slack


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that leave a short with less cash than its margin."""
    limit = limits.margin_frac * (-view.after).clamp_min(0.0) * view.mark
    left = view.cash - view.order * view.mark
    return RiskVerdict((view.after < 0.0) & (left < limit * (1.0 - slack(view.mark))), limit, left)


RULE = RiskRule(Denial.MARGIN, check)
