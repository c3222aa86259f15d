"""No order at a price far from the last one, and none where that jumped away from the mark."""

from __future__ import annotations

import torch

from tradingbot.domain.denial import SessionDenial
from tradingbot.risk.limits import SessionLimits
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule, slack


def check(limits: SessionLimits, view: OrderView, facts: SessionFacts) -> RiskVerdict:
    """Deny where order price or mark is further from the last price than the collar."""
    price, last = facts.limit_price, facts.last_price
    assert price is not None
    assert last is not None
    distance = torch.maximum((price / last - 1.0).abs(), (view.mark / last - 1.0).abs())
    inside = (last > 0.0) & (distance <= limits.price_collar_frac * (1.0 + slack(last)))
    return RiskVerdict(~inside, limits.price_collar_frac, distance)


RULE = SessionRule(
    SessionDenial.PRICE_COLLAR, ("limit_price", "last_price"), check, judges_reducing=True
)
