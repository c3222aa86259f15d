"""A session that lost too much opens nothing any more."""

from __future__ import annotations

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where the loss of the session has reached the limit, of the equity it began with."""
    loss = facts.loss_today_frac
    assert loss is not None
    return RiskVerdict(~(loss < limits.max_daily_loss_frac), limits.max_daily_loss_frac, loss)


RULE = SessionRule(SessionDenial.DAILY_LOSS, ("loss_today_frac",), check)
