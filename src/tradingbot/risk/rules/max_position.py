"""No position above a share of equity."""

from __future__ import annotations

import torch

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, slack


def check(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that increase or turn a position beyond the limit, in account currency."""
    limit = limits.max_position_frac * view.equity
    value = view.after.abs() * view.mark
    turns = torch.sign(view.after) * view.units < 0.0
    grows = turns | (view.after.abs() > view.units.abs())
    return RiskVerdict(grows & (value > limit * (1.0 + slack(view.mark))), limit, value)


RULE = RiskRule(Denial.MAX_POSITION, check)
