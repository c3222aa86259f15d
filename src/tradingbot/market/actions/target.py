"""Target actions in [−1, 1]: the position wanted, as a share of the largest position."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision, decide, read_number
from tradingbot.market.buying_power import BuyingPower
from tradingbot.market.params import ActionRules
from tradingbot.risk.rule import slack


def decode_target(
    rules: ActionRules, account: Account, room: BuyingPower, action: Tensor, *, lowest: float
) -> Decision:
    """Read actions (B,); see `docs/concepts/simulator.md` §1.

    Args:
        rules: How actions are read.
        account: B accounts.
        room: What they could buy and sell.
        action: (B,) share of the largest position.
        lowest: 0 in a long-only account, else −1.
    """
    known, smoothed = read_number(rules, account, action, lowest)
    wanted = smoothed * room.largest / account.mark - account.units
    # Units as they are held: a value divided by its price again would leave a speck of them.
    most = (-account.units).clamp_min(0.0) + room.buy_room / account.mark
    least = -(account.units.clamp_min(0.0) + room.short_room / account.mark)
    # What rounding leaves between a position and the same position wanted is no order.
    still = wanted.abs() <= slack(wanted) * account.units.abs()
    order = torch.where(known & ~still, torch.maximum(torch.minimum(wanted, most), least), 0.0)
    return decide(account, room, order, known, smoothed)
