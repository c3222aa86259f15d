"""How much one account could buy, or sell short, at its next order."""

from __future__ import annotations

from typing import NamedTuple

from tradingbot.market.costs import CostProfile
from tradingbot.market.scalar.account import ScalarAccount
from tradingbot.risk.limits import RiskLimits


class ScalarRoom(NamedTuple):
    """Values in account currency, each 0 or more."""

    largest: float
    """The largest position."""
    buy_room: float
    """What cash allows to buy beyond covering a short."""
    short_room: float
    """What margin allows to sell beyond a long; 0 in a long-only account."""
    more_long: float
    """What a position may grow by buying."""
    more_short: float
    """What a position may grow by selling."""


def measure_room(
    limits: RiskLimits, costs: CostProfile, account: ScalarAccount, equity: float
) -> ScalarRoom:
    """Measure the room of an account at its last close."""
    value = account.units * account.mark
    long_value, short_value = (value, 0.0) if value > 0.0 else (0.0, -value)
    largest = limits.max_position_frac * equity if equity > 0.0 else 0.0
    place = max(largest - abs(value), 0.0)
    buffer = costs.commission_frac + costs.slippage_frac + costs.spread_frac / 2.0
    free_cash = account.cash - short_value - limits.reserve_frac * equity
    buy_room = free_cash / (1.0 + buffer) if free_cash > 0.0 else 0.0
    short_room = 0.0
    if limits.allow_short:
        spare = account.cash + long_value - limits.margin_frac * short_value
        short_room = max(spare, 0.0) / (limits.margin_frac - 1.0)
    return ScalarRoom(largest, buy_room, short_room, min(place, buy_room), min(place, short_room))
