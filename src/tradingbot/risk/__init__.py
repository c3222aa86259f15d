"""Rules that orders must pass, as pure checks of a batch: the same in simulation and live.

A rule of orders is one file in `rules/`, rules of sessions are in `session_rules.py`. Nothing
here may read a policy, a reward or a clock.
"""

from tradingbot.risk.catalogue import RULES, SESSION_RULES
from tradingbot.risk.gate import explain, explain_session, judge, judge_session
from tradingbot.risk.limits import RiskLimits, SessionLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, SessionFacts, SessionRule

__all__ = [
    "RULES",
    "SESSION_RULES",
    "OrderView",
    "RiskLimits",
    "RiskRule",
    "RiskVerdict",
    "SessionFacts",
    "SessionLimits",
    "SessionRule",
    "explain",
    "explain_session",
    "judge",
    "judge_session",
]
