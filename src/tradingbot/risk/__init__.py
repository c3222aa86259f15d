"""Rules that orders must pass, as pure checks of a batch: the same in simulation and live.

Rules of orders are in `order_rules.py`, rules of sessions in `session_rules.py`. Nothing
here may read a policy, a reward or a clock.
"""

from tradingbot.risk.limits import RiskLimits, SessionLimits

__all__ = ["RiskLimits", "SessionLimits"]
