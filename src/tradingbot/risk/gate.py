"""The gate every order passes: all rules, in order; the first denial counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits, SessionLimits
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES

_Rule = TypeVar("_Rule", RiskRule, SessionRule)


def judge(limits: RiskLimits, view: OrderView, rules: Sequence[RiskRule] = RULES) -> Tensor:
    """Return the code of the first rule that denies each order, (B,) int32; 0 where none does."""
    return _first_denial(view, rules, lambda rule: rule.check(limits, view))


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
    asked = active_session_rules(view, rules, is_simulation=is_simulation)
    return _first_denial(view, asked, lambda rule: _session_verdict(rule, limits, view))


def active_session_rules(
    view: OrderView, rules: Sequence[SessionRule] = SESSION_RULES, *, is_simulation: bool = False
) -> list[SessionRule]:
    """Return the rules that are asked; all of them outside a simulation."""
    return [
        rule
        for rule in rules
        if not (is_simulation and rule.inactive_in_simulation and not _facts(rule, view))
    ]


def explain(
    limits: RiskLimits, view: OrderView, lane: int, rules: Sequence[RiskRule] = RULES
) -> str | None:
    """Put the denial of one order into words, or return None where it passes.

    Example: `MAX_POSITION: limit=15000 observed=17250`.
    """
    code = int(judge(limits, view, rules)[lane])
    return _words(code, lane, rules, lambda rule: rule.check(limits, view))


def explain_session(
    limits: SessionLimits, view: OrderView, lane: int, rules: Sequence[SessionRule] = SESSION_RULES
) -> str | None:
    """Put the denial of one order by a session rule into words, or return None where it passes.

    Example: `DAILY_LOSS: limit=0.02 observed=0.0214`; observed=nan where a fact is unknown.
    """
    code = int(judge_session(limits, view, rules)[lane])
    return _words(code, lane, rules, lambda rule: _session_verdict(rule, limits, view))


def _first_denial(
    view: OrderView, rules: Sequence[_Rule], verdict_of: Callable[[_Rule], RiskVerdict]
) -> Tensor:
    reduces = view.reduces
    denial = torch.full_like(view.halted, Denial.NONE)
    for rule in reversed(rules):
        denied = verdict_of(rule).denied
        if not rule.judges_reducing:
            denied = denied & ~reduces
        denial = torch.where(denied, int(rule.code), denial)
    return torch.where(view.order == 0.0, int(Denial.NONE), denial)


def _facts(rule: SessionRule, view: OrderView) -> list[Tensor]:
    """Return the facts that a rule reads; none at all where one is not kept."""
    facts = [getattr(view.session, name, None) for name in rule.facts]
    kept = [fact for fact in facts if fact is not None]
    return kept if len(kept) == len(facts) else []


def _session_verdict(rule: SessionRule, limits: SessionLimits, view: OrderView) -> RiskVerdict:
    if facts := _facts(rule, view):
        return rule.check(limits, view, *facts)
    unknown = torch.full_like(view.mark, math.nan)
    return RiskVerdict(torch.isnan(unknown), math.nan, unknown)


def _words(
    code: int, lane: int, rules: Sequence[_Rule], verdict_of: Callable[[_Rule], RiskVerdict]
) -> str | None:
    for rule in rules:
        if rule.code == code:
            verdict = verdict_of(rule)
            limit, observed = (
                float(x[lane]) if isinstance(x, Tensor) else float(x)
                for x in (verdict.limit, verdict.observed)
            )
            return f"{rule.code.name}: limit={limit:.10g} observed={observed:.10g}"
    return None
