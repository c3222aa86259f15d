"""Unknown is denied: a number that is not finite, or a price or equity that is not positive."""

from __future__ import annotations

import torch

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that rest on an unknown number; observed is the worst of them."""
    # A sum is finite only if all of its parts are: one test instead of five.
    total = view.order + view.units + view.mark + view.cash + view.equity
    known = torch.isfinite(total)
    least = torch.minimum(view.mark, view.equity)
    return RiskVerdict(~known | (least <= 0.0), 0.0, torch.where(known, least, total))


RULE = RiskRule(Denial.UNKNOWN_VALUE, check, judges_reducing=True)
