"""Orders too small to be worth their costs are not sent, unless they close a position."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, slack


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders below the limit, in account currency, that leave a position open."""
    small = (view.value > 0.0) & (view.value < limits.min_trade_ccy * (1.0 - slack(view.mark)))
    closes = view.after.abs() <= slack(view.mark) * view.units.abs()
    return RiskVerdict(small & ~closes, limits.min_trade_ccy, view.value)


RULE = RiskRule(Denial.MIN_TRADE_VALUE, check, judges_reducing=True)
