"""How much an account could buy, or sell short, at its next order."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.costs import CostRates
from tradingbot.risk.limits import RiskLimits


class BuyingPower(NamedTuple):
    """Values in account currency, 0 or more, every field (B,) but the last."""

    long_value: Tensor
    """Value of a long position."""
    short_value: Tensor
    """Value of a short position, positive."""
    buy_room: Tensor
    """What cash allows to buy beyond covering a short."""
    short_room: Tensor
    """What margin allows to sell beyond a long; 0 in a long-only account."""
    place: Tensor
    """What the largest position leaves."""
    largest: Tensor
    """The largest position."""
    min_trade_ccy: float
    """The smallest order that is sent."""


def buying_power_of(
    limits: RiskLimits, rates: CostRates, account: Account, equity: Tensor
) -> BuyingPower:
    """Measure the room of each account at its last close."""
    long_value = account.units.clamp_min(0.0) * account.mark
    short_value = (-account.units).clamp_min(0.0) * account.mark
    buffer = rates.one_way_frac
    free_cash = account.cash - short_value - limits.reserve_frac * equity
    largest = limits.max_position_frac * equity.clamp_min(0.0)
    short_room = account.cash + long_value - limits.margin_frac * short_value
    permitted = 1.0 if limits.allow_short else 0.0
    return BuyingPower(
        long_value,
        short_value,
        buy_room=free_cash.clamp_min(0.0) / (1.0 + buffer),
        short_room=permitted * short_room.clamp_min(0.0) / (limits.margin_frac - 1.0),
        place=(largest - long_value - short_value).clamp_min(0.0),
        largest=largest,
        min_trade_ccy=limits.min_trade_ccy,
    )
