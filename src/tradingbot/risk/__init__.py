"""Rules that orders must pass, as pure checks of a batch: the same in simulation and live.

A rule is one file in `rules/`. Nothing here may read a policy, a reward or a clock.
"""

from tradingbot.risk.catalogue import RULES
from tradingbot.risk.gate import explain, judge
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict

__all__ = ["RULES", "OrderView", "RiskLimits", "RiskRule", "RiskVerdict", "explain", "judge"]
