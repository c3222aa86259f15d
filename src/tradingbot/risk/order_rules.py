"""Rules that judge an order by its account: sizes, cash, margin, and whether anything is known.

Each check is a pure function of B orders; what it compares is in account currency unless it says
another unit.
"""

from __future__ import annotations

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict, namespace_of, slack


def check_known(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that rest on an unknown number; observed is the worst of them.

    Unknown is a number that is not finite, or a price or equity that is not positive.
    """
    # A sum is finite only if all of its parts are: one test instead of five.
    total = view.order + view.units + view.mark + view.cash + view.equity
    maths = namespace_of(total)
    known = maths.isfinite(total)
    least = maths.minimum(view.mark, view.equity)
    return RiskVerdict(~known | (least <= 0.0), 0.0, maths.where(known, least, total))


def check_halted(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny everything once trading has been stopped; forced exits do not pass here."""
    return RiskVerdict(view.halted != 0, 0.0, view.halted)


def check_stale_data(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny when more bars than the limit have passed without a trade."""
    fresh = view.stale_bars <= limits.max_stale_bars  # an age that is not a number is not fresh
    return RiskVerdict(~fresh, limits.max_stale_bars, view.stale_bars)


def check_short(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that would leave fewer than 0 units where shorts are not allowed."""
    denied = (view.after < 0.0) & (not limits.allow_short)
    return RiskVerdict(denied, 0.0, view.after)


def check_order_value(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny single orders that open more than a share of equity: fat fingers.

    An order that turns a position is judged by what it opens: what it closes is risk taken off.
    """
    limit = limits.max_order_frac * view.equity
    opened = namespace_of(view.mark).minimum(abs(view.order), abs(view.after)) * view.mark
    return RiskVerdict(opened > limit * (1.0 + slack(view.mark)), limit, opened)


def check_position(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that increase or turn a position beyond a share of equity."""
    limit = limits.max_position_frac * view.equity
    value = abs(view.after) * view.mark
    turns = namespace_of(view.mark).sign(view.after) * view.units < 0.0
    grows = turns | (abs(view.after) > abs(view.units))
    return RiskVerdict(grows & (value > limit * (1.0 + slack(view.mark))), limit, value)


def check_cash_reserve(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny buys beyond covering a short that would leave less cash than the reserve."""
    limit = limits.reserve_frac * view.equity
    left = view.cash - view.order * view.mark
    buys = (view.order > 0.0) & (view.after > 0.0)
    return RiskVerdict(buys & (left < limit - slack(view.mark) * view.equity), limit, left)


def check_margin(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders that leave a short with less cash, beyond its own proceeds, than its margin."""
    short = namespace_of(view.mark).clip(-view.after, 0.0, None)
    limit = limits.margin_frac * short * view.mark
    left = view.cash - view.order * view.mark
    return RiskVerdict((view.after < 0.0) & (left < limit * (1.0 - slack(view.mark))), limit, left)


def check_trade_value(limits: RiskLimits, view: OrderView) -> RiskVerdict:
    """Deny orders too small to be worth their costs, unless they close a position."""
    small = (view.value > 0.0) & (view.value < limits.min_trade_ccy * (1.0 - slack(view.mark)))
    closes = abs(view.after) <= slack(view.mark) * abs(view.units)
    return RiskVerdict(small & ~closes, limits.min_trade_ccy, view.value)


RULES: tuple[RiskRule, ...] = (
    RiskRule(Denial.UNKNOWN_VALUE, check_known, judges_reducing=True),
    RiskRule(Denial.TRADING_HALTED, check_halted, judges_reducing=True),
    RiskRule(Denial.STALE_DATA, check_stale_data, limit="max_stale_bars"),
    RiskRule(Denial.SHORT_NOT_ALLOWED, check_short, limit="allow_short"),
    RiskRule(Denial.MAX_ORDER_VALUE, check_order_value, limit="max_order_frac"),
    RiskRule(Denial.MAX_POSITION, check_position, limit="max_position_frac"),
    RiskRule(Denial.CASH_RESERVE, check_cash_reserve, limit="reserve_frac"),
    RiskRule(Denial.MARGIN, check_margin, limit="margin_frac"),
    RiskRule(
        Denial.MIN_TRADE_VALUE, check_trade_value, judges_reducing=True, limit="min_trade_ccy"
    ),
)
"""In the order in which they are asked; the first denial counts."""
