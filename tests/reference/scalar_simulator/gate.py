"""The risk gate for one order: the rules of `risk/`, as one chain of questions."""

from __future__ import annotations

import math

from reference.scalar_simulator.account import ScalarAccount
from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits

SLACK = 1.0e-9
"""Relative distance by which a limit may be missed: rounding only."""
NONE = int(Denial.NONE)
_UNKNOWN_VALUE, _TRADING_HALTED, _MIN_TRADE_VALUE = (
    int(code) for code in (Denial.UNKNOWN_VALUE, Denial.TRADING_HALTED, Denial.MIN_TRADE_VALUE)
)


def judge_order(limits: RiskLimits, account: ScalarAccount, order: float, equity: float) -> int:
    """Return the `Denial` of the first rule that denies an order, 0 where none does."""
    if order == 0.0:
        return NONE
    mark, units = account.mark, account.units
    # A sum is finite only if all of its terms are.
    if not (math.isfinite(order + mark + account.cash + equity) and mark > 0.0 and equity > 0.0):
        return _UNKNOWN_VALUE
    if account.halted:
        return _TRADING_HALTED
    reduces = (order > 0.0) != (units > 0.0) and abs(order) <= abs(units)
    if not reduces:
        denial = _judge_exposure(limits, account, order, equity)
        if denial != NONE:
            return denial
    small = abs(order) * mark < limits.min_trade_ccy * (1.0 - SLACK)
    closes = abs(units + order) <= SLACK * abs(units)
    return _MIN_TRADE_VALUE if small and not closes else NONE


def _judge_exposure(limits: RiskLimits, account: ScalarAccount, order: float, equity: float) -> int:
    """Ask the rules for orders that open, increase or turn a position."""
    mark = account.mark
    after = account.units + order
    after_value = abs(after) * mark
    turns = after != 0.0 and account.units != 0.0 and (after > 0.0) != (account.units > 0.0)
    grows = turns or abs(after) > abs(account.units)
    cash_left = account.cash - order * mark
    if account.stale_bars > limits.max_stale_bars:
        return int(Denial.STALE_DATA)
    if after < 0.0 and not limits.allow_short:
        return int(Denial.SHORT_NOT_ALLOWED)
    opened = after_value if turns else abs(order) * mark
    if opened > limits.max_order_frac * equity * (1.0 + SLACK):
        return int(Denial.MAX_ORDER_VALUE)
    if grows and after_value > limits.max_position_frac * equity * (1.0 + SLACK):
        return int(Denial.MAX_POSITION)
    if order > 0.0 and after > 0.0 and cash_left < (limits.reserve_frac - SLACK) * equity:
        return int(Denial.CASH_RESERVE)
    if after < 0.0 and cash_left < limits.margin_frac * after_value * (1.0 - SLACK):
        return int(Denial.MARGIN)
    return NONE
