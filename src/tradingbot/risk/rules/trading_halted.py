"""A halted account gives no orders of its own."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, Rule, Verdict


def check(limits: RiskLimits, view: OrderView) -> Verdict:
    """Deny everything once trading has been stopped; forced exits do not pass here."""
    return Verdict(view.halted != 0, 0.0, view.halted)


RULE = Rule(Denial.TRADING_HALTED, check, judges_reducing=True)
