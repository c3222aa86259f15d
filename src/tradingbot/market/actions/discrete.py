"""Seven discrete actions with a mask and a limit on repeats."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision, count_repeats
from tradingbot.market.buying_power import BuyingPower
from tradingbot.market.params import ActionRules
from tradingbot.risk.limits import RiskLimits

N_ACTIONS = len(Action)


def action_values(rules: ActionRules, account: Account, room: BuyingPower) -> Tensor:
    """Return what each action would trade, (7, B), signed and in account currency."""
    increase = torch.minimum(room.place, room.buy_room)
    entries = [torch.minimum(frac * room.largest, increase) for frac in rules.entry_fracs]
    return torch.stack(
        (
            torch.zeros_like(increase),
            *entries,
            -rules.sell_partial_frac * room.long_value,
            -room.long_value,
            torch.minimum(rules.add_frac * room.largest, increase),
        )
    )


def action_mask(rules: ActionRules, limits: RiskLimits, account: Account, values: Tensor) -> Tensor:
    """Return which actions may be executed, (7, B) bool; HOLD always may."""
    flat, long = account.units == 0.0, account.units > 0.0
    worth = values.abs() >= limits.min_trade_ccy
    worth = worth & (values != 0.0)
    profit = account.mark > account.entry * (1.0 + rules.add_min_profit_frac)
    may_add = long & profit & (account.adds < rules.max_adds)
    active = account.halted == 0
    hold, sell_partial, add = Action.HOLD, Action.SELL_PARTIAL, Action.ADD_POSITION
    return torch.stack(
        (
            torch.ones_like(values[hold], dtype=torch.bool),
            *(flat & worth[code] & active for code in (1, 2, 3)),
            long & worth[sell_partial] & active,
            long & active,
            may_add & worth[add] & active,
        )
    )


def decode_discrete(
    rules: ActionRules, limits: RiskLimits, account: Account, room: BuyingPower, action: Tensor
) -> Decision:
    """Read codes (B,) of any dtype; see `docs/concepts/simulator.md` §1."""
    known = (action >= 0) & (action < N_ACTIONS)
    selected = torch.where(known, action, 0).int()
    known = known & (selected == action)
    selected = torch.where(known, selected, 0)
    values = action_values(rules, account, room)
    mask = action_mask(rules, limits, account, values)
    # A sum over seven rows rather than a gather: it fuses with everything around it.
    chosen = selected == torch.arange(N_ACTIONS, device=action.device)[:, None]
    repeats = count_repeats(account, selected)
    executable = (chosen & mask).any(0) & (repeats <= rules.max_repeats)
    value = torch.where(chosen & executable, values, 0.0).sum(0)
    order = value / account.mark
    order = torch.where(executable & (selected == int(Action.SELL_ALL)), -account.units, order)
    code = torch.where(executable, selected, int(Action.HOLD)).int()
    return Decision(order, code, selected, ~(executable & known), account.smoothed, repeats)
