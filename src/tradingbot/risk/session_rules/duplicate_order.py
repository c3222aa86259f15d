"""A decision makes one order, however often it is sent."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny what was sent before, by id or by content."""
    sent = facts.order_is_duplicate
    assert sent is not None
    return RiskVerdict(~(sent == 0.0), 0.0, sent)


RULE = SessionRule(
    SessionDenial.DUPLICATE_ORDER, ("order_is_duplicate",), check, judges_reducing=True
)
