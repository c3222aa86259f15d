"""Every risk rule, in the order in which they are asked; the first denial counts.

`RULES` judge an order by its account, `SESSION_RULES` by the session it is sent in.
"""

from tradingbot.risk.rule import RiskRule
from tradingbot.risk.rules import (
    cash_reserve,
    margin,
    max_order_value,
    max_position,
    min_trade_value,
    short_not_allowed,
    stale_data,
    trading_halted,
    unknown_value,
)
from tradingbot.risk.session_rules import SESSION_RULES

RULES: tuple[RiskRule, ...] = (
    unknown_value.RULE,
    trading_halted.RULE,
    stale_data.RULE,
    short_not_allowed.RULE,
    max_order_value.RULE,
    max_position.RULE,
    cash_reserve.RULE,
    margin.RULE,
    min_trade_value.RULE,
)

__all__ = ["RULES", "SESSION_RULES"]
