"""How much one account could buy, or sell short, at its next order."""

from __future__ import annotations

from typing import NamedTuple

from reference.scalar_simulator.account import ScalarAccount
from tradingbot.market.costs import CostProfile
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
    cash, value = account.cash, account.units * account.mark
    long_value, short_value = (value, 0.0) if value > 0.0 else (0.0, -value)
    largest = limits.max_position_frac * equity if equity > 0.0 else 0.0
    place = largest - long_value - short_value
    if place < 0.0:
        place = 0.0
    buy_room = cash - short_value - limits.reserve_frac * equity
    if buy_room > 0.0:
        buy_room /= 1.0 + costs.commission_frac + costs.slippage_frac + costs.spread_frac / 2.0
    else:
        buy_room = 0.0
    short_room = 0.0
    if limits.allow_short:
        spare = cash + long_value - limits.margin_frac * short_value
        short_room = spare / (limits.margin_frac - 1.0) if spare > 0.0 else 0.0
    return ScalarRoom(
        largest,
        buy_room,
        short_room,
        place if place < buy_room else buy_room,
        place if place < short_room else short_room,
    )
