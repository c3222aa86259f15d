"""Fat fingers: no single order above a share of equity."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, slack


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders larger than the limit, in account currency."""
    limit = limits.max_order_frac * view.equity
    return RiskVerdict(view.value > limit * (1.0 + slack(view.mark)), limit, view.value)


RULE = RiskRule(Denial.MAX_ORDER_VALUE, check)
