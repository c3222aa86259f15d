"""A halted account gives no orders of its own."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny everything once trading has been stopped; forced exits do not pass here."""
    return RiskVerdict(view.halted != 0, 0.0, view.halted)


RULE = RiskRule(Denial.TRADING_HALTED, check, judges_reducing=True)
