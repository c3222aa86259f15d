"""No position above a share of equity."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, Rule, Verdict, slack


def check(limits: RiskLimits, view: OrderView) -> Verdict:
    """Deny orders that increase a position beyond the limit, in account currency."""
    limit = limits.max_position_frac * view.equity
    value = view.after.abs() * view.mark
    grows = view.after.abs() > view.units.abs()
    return Verdict(grows & (value > limit * (1.0 + slack(view.mark))), limit, value)


RULE = Rule(Denial.MAX_POSITION, check)
