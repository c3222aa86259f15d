"""No position is opened or increased on a price that is too old."""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny when more bars than the limit have passed without a trade."""
    fresh = view.stale_bars <= limits.max_stale_bars  # an age that is not a number is not fresh
    return RiskVerdict(~fresh, limits.max_stale_bars, view.stale_bars)


RULE = RiskRule(Denial.STALE_DATA, check)
