"""No position on a decision that is not sure enough."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny below the limit."""
    sure = facts.confidence
    assert sure is not None
    return RiskVerdict(~(sure >= limits.min_confidence), limits.min_confidence, sure)


RULE = SessionRule(SessionDenial.LOW_CONFIDENCE, ("confidence",), check)
