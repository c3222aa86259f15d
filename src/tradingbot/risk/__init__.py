"""Rules that orders must pass, as pure checks of a batch: the same in simulation and live.

Rules of orders are in `order_rules.py`, rules of sessions in `session_rules.py`. Nothing
here may read a policy, a reward or a clock.
"""

from tradingbot.risk.gate import explain, explain_session, judge, judge_session
from tradingbot.risk.limits import RiskLimits, SessionLimits
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, SessionFacts, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES

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
