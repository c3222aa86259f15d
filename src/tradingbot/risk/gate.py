"""The gate every order passes: all rules, in order; the first denial counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits, SessionLimits
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES


def judge(limits: RiskLimits, view: OrderView, rules: Sequence[RiskRule] = RULES) -> Tensor:
    """Return the code of the first rule that denies each order, (B,) int32; 0 where none does."""
    return _first_denial(limits, view, rules)


def judge_session(
    limits: SessionLimits,
    view: OrderView,
    rules: Sequence[SessionRule] = SESSION_RULES,
    *,
    is_simulation: bool = False,
) -> Tensor:
    """Return the code of the first session rule that denies each order, (B,) int32; 0 for none.

    Args:
        limits: Of the session.
        view: Orders, with `view.session`.
        rules: In the order in which they are asked.
        is_simulation: Facts that are not kept leave a rule inactive if the rule is declared so;
            otherwise, unknown is denied.
    """
    if is_simulation:
        rules = [r for r in rules if _facts(r, view) or not r.inactive_in_simulation]
    return _first_denial(limits, view, rules)


def explain(
    limits: RiskLimits, view: OrderView, lane: int, rules: Sequence[RiskRule] = RULES
) -> str | None:
    """Put the denial of one order into words, or return None where it passes.

    Example: `MAX_POSITION: limit=15000 observed=17250`.
    """
    return _words(limits, view, lane, rules)


def explain_session(
    limits: SessionLimits, view: OrderView, lane: int, rules: Sequence[SessionRule] = SESSION_RULES
) -> str | None:
    """Put the denial of one order by a session rule into words, or return None where it passes.

    Example: `DAILY_LOSS: limit=0.02 observed=0.0214`; observed=nan where a fact is unknown.
    """
    return _words(limits, view, lane, rules)


def _first_denial(
    limits: Any, view: OrderView, rules: Sequence[RiskRule] | Sequence[SessionRule]
) -> Tensor:
    reduces = view.reduces
    denial = torch.full_like(view.halted, Denial.NONE)
    for rule in reversed(rules):
        denied = _verdict_of(rule, limits, view).denied
        if not rule.judges_reducing:
            denied = denied & ~reduces
        denial = torch.where(denied, int(rule.code), denial)
    return torch.where(view.order == 0.0, int(Denial.NONE), denial)


def _verdict_of(rule: RiskRule | SessionRule, limits: Any, view: OrderView) -> RiskVerdict:
    if isinstance(rule, RiskRule):
        return rule.check(limits, view)
    if facts := _facts(rule, view):
        return rule.check(limits, view, *facts)
    unknown = torch.full_like(view.mark, math.nan)
    return RiskVerdict(torch.isnan(unknown), math.nan, unknown)


def _facts(rule: SessionRule, view: OrderView) -> list[Tensor]:
    """Return the facts that a rule reads; none at all where one is not kept."""
    facts = [getattr(view.session, name, None) for name in rule.facts]
    kept = [fact for fact in facts if fact is not None]
    return kept if len(kept) == len(facts) else []


def _words(
    limits: Any, view: OrderView, lane: int, rules: Sequence[RiskRule] | Sequence[SessionRule]
) -> str | None:
    code = int(_first_denial(limits, view, rules)[lane])
    for rule in rules:
        if rule.code == code:
            _, *numbers = _verdict_of(rule, limits, view)
            limit, observed = (float(x[lane] if isinstance(x, Tensor) else x) for x in numbers)
            return f"{rule.code.name}: limit={limit:.10g} observed={observed:.10g}"
    return None
