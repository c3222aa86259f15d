"""Continuous actions in [−1, 1]: buy a share of the room, sell a share of the position."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.actions.decision import (
    Decision,
    count_repeats,
    sell_remainder,
    smooth,
    unified_code,
)
from tradingbot.market.buying_power import BuyingPower
from tradingbot.market.params import ActionRules


def decode_continuous(
    rules: ActionRules, account: Account, room: BuyingPower, action: Tensor
) -> Decision:
    """Read actions (B,); see the module and `docs/concepts/simulator.md` §1."""
    known = torch.isfinite(action)
    clean = torch.where(known, action, account.smoothed).clamp(-1.0, 1.0)
    smoothed = smooth(account, clean, rules.smoothing)
    share = ((smoothed.abs() - rules.hold_zone) / (1.0 - rules.hold_zone)).clamp(0.0, 1.0)
    side = torch.sign(smoothed)
    increase = torch.where(
        side > 0.0,
        torch.minimum(room.place, room.buy_room),
        torch.minimum(room.place, room.short_room),
    )
    against = account.units * side < 0.0
    order = torch.where(against, -share * account.units, side * share * increase / account.mark)
    order = sell_remainder(account, torch.where(known, order, 0.0), room)
    code = unified_code(account, order, room)
    return Decision(order, code, code, ~known, smoothed, count_repeats(account, code))
