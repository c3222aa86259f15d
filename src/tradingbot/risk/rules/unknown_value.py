"""Unknown is denied: a number that is not finite, or a price or equity that is not positive."""

from __future__ import annotations

import torch

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, Rule, Verdict


def check(limits: RiskLimits, view: OrderView) -> Verdict:
    """Deny orders that rest on a number nobody can vouch for; observed is how many are bad."""
    numbers = torch.stack((view.order, view.units, view.mark, view.cash, view.equity))
    bad = (~torch.isfinite(numbers)).sum(0) + (view.mark <= 0.0) + (view.equity <= 0.0)
    return Verdict(bad > 0, 0.0, bad)


RULE = Rule(Denial.UNKNOWN_VALUE, check, judges_reducing=True)
