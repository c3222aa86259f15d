"""The gate every order passes: all rules, in order; the first denial counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.denial import Denial, SessionDenial
from tradingbot.risk.limits import RiskLimits, SessionLimits
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, SessionRule, namespace_of
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
        rules = [
            each
            for each in rules
            if _facts(each, view) is not None or not each.inactive_in_simulation
        ]
    return _first_denial(limits, view, rules)


def explain(
    limits: RiskLimits, view: OrderView, lane: int, rules: Sequence[RiskRule] = RULES
) -> str | None:
    """Put the denial of one order into words, or return None where it passes.

    Example: `MAX_POSITION: limit=15000 observed=17250`.
    """
    return _words(limits, view, lane, rules)


class OrderDenial(NamedTuple):
    """Why one order was denied."""

    code: Denial | SessionDenial
    words: str
    """Code with the numbers that were compared, or with what went wrong in the check."""


def find_denial(
    limits: RiskLimits,
    session_limits: SessionLimits,
    view: OrderView,
    rules: Sequence[RiskRule | SessionRule] = (*SESSION_RULES, *RULES),
) -> OrderDenial | None:
    """Ask all rules of a session and of an order, of which there is one; None where it passes.

    The same verdicts as `judge_session` and `judge`, and fail-closed: a check that raises denies
    under the code of its rule.
    """
    reduces = bool(view.reduces)
    with np.errstate(all="ignore"):  # x / 0 is infinite or unknown, which denies
        for rule in rules:
            if reduces and not rule.judges_reducing:
                continue
            own: Any = limits if isinstance(rule, RiskRule) else session_limits
            try:
                verdict = _verdict_of(rule, own, view)
                if bool(verdict.denied):
                    return OrderDenial(rule.code, _compare(rule, verdict, 0))
            except Exception as error:  # whatever it is: an order that was not judged is not sent
                words = f"{rule.code.name}: the check failed with {type(error).__name__}: {error}"
                return OrderDenial(rule.code, words)
    return None


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
    adds = ~view.reduces
    denial = torch.full_like(view.halted, Denial.NONE)
    for rule in reversed(rules):
        denied = _verdict_of(rule, limits, view).denied
        if not rule.judges_reducing:
            denied = denied & adds
        denial = torch.where(denied, int(rule.code), denial)
    return torch.where(view.order == 0.0, int(Denial.NONE), denial)


def _verdict_of(rule: RiskRule | SessionRule, limits: Any, view: OrderView) -> RiskVerdict:
    if isinstance(rule, RiskRule):
        return rule.check(limits, view)
    facts = _facts(rule, view)
    if facts is not None:
        return rule.check(limits, view, *facts)
    maths = namespace_of(view.mark)
    unknown = maths.full_like(view.mark, math.nan)
    return RiskVerdict(maths.isnan(unknown), math.nan, unknown)


def _facts(rule: SessionRule, view: OrderView) -> list[Tensor] | None:
    """Return the facts that a rule reads; None where one is not kept."""
    if view.session is None:
        return None
    facts = []
    for name in rule.facts:
        fact = getattr(view.session, name)
        if fact is None:
            return None
        facts.append(fact)
    return facts


def _words(
    limits: Any, view: OrderView, lane: int, rules: Sequence[RiskRule] | Sequence[SessionRule]
) -> str | None:
    code = int(_first_denial(limits, view, rules)[lane])
    for rule in rules:
        if rule.code == code:
            return _compare(rule, _verdict_of(rule, limits, view), lane)
    return None


def _compare(rule: RiskRule | SessionRule, verdict: RiskVerdict, lane: int) -> str:
    _, *numbers = verdict
    limit, observed = (float(x[lane] if isinstance(x, Tensor) else x) for x in numbers)
    return f"{rule.code.name}: limit={limit:.10g} observed={observed:.10g}"
