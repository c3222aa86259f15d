"""Continuous actions in [−1, 1]: buy a share of the room, sell a share of the position."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision, decide, read_number
from tradingbot.market.buying_power import BuyingPower
from tradingbot.market.params import ActionRules


def decode_continuous(
    rules: ActionRules, account: Account, room: BuyingPower, action: Tensor
) -> Decision:
    """Read actions (B,); see the module and `docs/concepts/simulator.md` §1."""
    known, smoothed = read_number(rules, account, action, -1.0)
    share = ((smoothed.abs() - rules.hold_zone) / (1.0 - rules.hold_zone)).clamp(0.0, 1.0)
    side = torch.sign(smoothed)
    buys, shorts = (torch.minimum(room.place, most) for most in (room.buy_room, room.short_room))
    increase = torch.where(side > 0.0, buys, shorts)
    against = account.units * side < 0.0
    order = torch.where(against, -share * account.units, side * share * increase / account.mark)
    return decide(account, room, torch.where(known, order, 0.0), known, smoothed)
