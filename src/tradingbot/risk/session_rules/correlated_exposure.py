"""Symbols that move together count together."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule, slack


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where the order would leave more than the limit in them, of equity."""
    exposure = facts.correlated_exposure_frac
    assert exposure is not None
    limit = limits.max_correlated_frac
    return RiskVerdict(~(exposure <= limit * (1.0 + slack(exposure))), limit, exposure)


RULE = SessionRule(SessionDenial.CORRELATED_EXPOSURE, ("correlated_exposure_frac",), check)
