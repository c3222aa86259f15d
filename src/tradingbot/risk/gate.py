"""The gate every order passes: all rules, in order; the first denial counts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.risk.catalogue import RULES
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule


def judge(limits: RiskLimits, view: OrderView, rules: Sequence[RiskRule] = RULES) -> Tensor:
    """Return the code of the first rule that denies each order, (B,) int32; 0 where none does."""
    reduces = view.reduces
    denial = torch.full_like(view.halted, Denial.NONE)
    for rule in reversed(rules):
        denied = rule.check(limits, view).denied
        if not rule.judges_reducing:
            denied = denied & ~reduces
        denial = torch.where(denied, int(rule.code), denial)
    return torch.where(view.order == 0.0, int(Denial.NONE), denial)


def explain(
    limits: RiskLimits, view: OrderView, lane: int, rules: Sequence[RiskRule] = RULES
) -> str | None:
    """Put the denial of one order into words, or return None where it passes.

    Example: `MAX_POSITION: limit=15000 observed=17250`.
    """
    code = int(judge(limits, view, rules)[lane])
    for rule in rules:
        if rule.code == code:
            verdict = rule.check(limits, view)
            limit, observed = (
                float(x[lane]) if isinstance(x, Tensor) else float(x)
                for x in (verdict.limit, verdict.observed)
            )
            return f"{rule.code.name}: limit={limit:.10g} observed={observed:.10g}"
    return None
