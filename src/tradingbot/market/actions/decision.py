"""What every action space comes to: an order, and its code in the common language."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.market.account import Account
from tradingbot.market.buying_power import BuyingPower
from tradingbot.market.params import ActionRules
from tradingbot.risk.rule import slack

WHOLE_FRAC = 0.99
"""A sale of at least this share of a position counts as a sale of all."""
SMALL_FRAC, MEDIUM_FRAC = 1.0 / 2.0, 5.0 / 6.0
"""Entries up to these shares of the largest position are small, and medium."""


class Decision(NamedTuple):
    """Orders of B accounts before forced exits and the risk gate; every field (B,)."""

    order: Tensor
    """Signed units wanted."""
    code: Tensor
    """int32, the action of `domain.action.Action` that is executed."""
    selected: Tensor
    """int32, the code that was asked for; repeats are counted in these."""
    violation: Tensor
    """Bool: the action could not be executed as it was given."""
    smoothed: Tensor
    """The smoothed action, for the account."""
    repeats: Tensor
    """int32, identical codes in a row, with this one."""


def smooth(account: Account, action: Tensor, weight: float) -> Tensor:
    """Move the smoothed action (B,) toward the newest; at weight 1 it is the newest, exactly."""
    if weight == 1.0:  # s + (a − s) rounds: −1 would leave a speck of a position in float32
        return action
    return account.smoothed + weight * (action - account.smoothed)


def read_number(
    rules: ActionRules, account: Account, action: Tensor, lowest: float
) -> tuple[Tensor, Tensor]:
    """Return where actions (B,) are numbers, and the smoothed action, cut to [lowest, 1]."""
    known = torch.isfinite(action)
    clean = torch.where(known, action, account.smoothed).clamp(lowest, 1.0)
    return known, smooth(account, clean, rules.smoothing)


def decide(
    account: Account, room: BuyingPower, order: Tensor, known: Tensor, smoothed: Tensor
) -> Decision:
    """Make orders (B,) of numbers decisions; what was no number is a violation."""
    order = sell_remainder(account, order, room)
    code = unified_code(account, order, room)
    return Decision(order, code, code, ~known, smoothed, count_repeats(account, code))


def size_class(value: Tensor, largest: Tensor) -> Tensor:
    """Sort entries (B,) into small 1, medium 2, large 3 by their share of the largest position."""
    limit = largest * (1.0 + slack(value))
    return 1 + (value > SMALL_FRAC * limit).int() + (value > MEDIUM_FRAC * limit).int()


def sell_remainder(account: Account, order: Tensor, room: BuyingPower) -> Tensor:
    """Turn orders (B,) that would leave next to nothing of a position into orders for all of it.

    Smoothed actions sell in shares that never reach 1, and what they leave is soon too small to be
    sold at all: a position would never end.
    """
    reduces = (torch.sign(order) * account.units < 0.0) & (order.abs() < account.units.abs())
    left = (account.units + order).abs() * account.mark
    rest = (left < room.min_trade_ccy) | (order.abs() >= WHOLE_FRAC * account.units.abs())
    return torch.where(reduces & rest, -account.units, order)


def unified_code(account: Account, order: Tensor, room: BuyingPower) -> Tensor:
    """Say which of the seven actions an order (B,) amounts to.

    A short is the mirror of a long: selling into it is BUY_*, buying back is SELL_*.
    """
    against = torch.sign(order) * account.units < 0.0
    entry = size_class(order.abs() * account.mark, room.largest)
    whole = order.abs() >= WHOLE_FRAC * account.units.abs()
    exit_code = torch.where(whole, int(Action.SELL_ALL), int(Action.SELL_PARTIAL))
    increase = torch.where(account.units == 0.0, entry, int(Action.ADD_POSITION))
    code = torch.where(against, exit_code, increase)
    return torch.where(order == 0.0, int(Action.HOLD), code).int()


def count_repeats(account: Account, code: Tensor) -> Tensor:
    """Count identical codes in a row, with this one; HOLD counts 0."""
    same = torch.where(code == account.last_action, account.repeats + 1, 1)
    return torch.where(code == int(Action.HOLD), 0, same).int()
