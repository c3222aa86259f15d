"""One bar of the market for a batch of accounts: the pure function everything else is built on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.market.account import ACTION_MEMORY, Account
from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.actions.decision import Decision
from tradingbot.market.actions.discrete import decode_discrete
from tradingbot.market.actions.target import decode_target
from tradingbot.market.bars import Bar
from tradingbot.market.buying_power import BuyingPower, buying_power_of
from tradingbot.market.costs import CostRates
from tradingbot.market.exits import forced_exit, stop_within_bar
from tradingbot.market.fills import execute, volume_cap
from tradingbot.market.ledger import FillBatch, apply_fill, no_fill
from tradingbot.market.marking import episode_ends, mark_to_close
from tradingbot.market.params import SimulatorParams
from tradingbot.risk.gate import judge
from tradingbot.risk.rule import OrderView


class Advanced(NamedTuple):
    """What one bar did to B accounts; every field (B,) unless it is a record of such."""

    before: Account
    after: Account
    """At the close of the next bar, before any reset."""
    decision: Decision
    order: Tensor
    """Signed units sent to the market, after forced exits and the gate."""
    fill: FillBatch
    """At the open."""
    exit_fill: FillBatch
    """Of a stop or a take-profit within the bar."""
    exit_reason: Tensor
    """int32 `ExitReason` of a forced exit or a stop."""
    denial: Tensor
    """int32 `Denial`."""
    terminated: Tensor
    truncated: Tensor


def decode(rules: SimulatorParams, account: Account, room: BuyingPower, action: Tensor) -> Decision:
    """Read actions (B,) in the space that the rules name."""
    if rules.action.space == "discrete":
        return decode_discrete(rules.action, rules.limits, account, room, action)
    action = action.to(account.cash.dtype)
    if rules.action.space == "target":
        lowest = -1.0 if rules.limits.allow_short else 0.0
        return decode_target(rules.action, account, room, action, lowest=lowest)
    return decode_continuous(rules.action, account, room, action)


def advance(
    rules: SimulatorParams, rates: CostRates, account: Account, bar: Bar, action: Tensor
) -> Advanced:
    """Decide at the close of bar t, fill at the open of t + 1, mark at its close.

    Args:
        rules: Constants.
        rates: Costs, () or (B,).
        account: B accounts at the close of t.
        bar: Bar t + 1 of each.
        action: (B,) actions in the space of `rules.action.space`.
    """
    equity = account.equity
    room = buying_power_of(rules.limits, rates, account, equity)
    decision = decode(rules, account, room, action)
    return advance_order(rules, rates, account, bar, decision, largest=room.largest)


def advance_order(
    rules: SimulatorParams,
    rates: CostRates,
    account: Account,
    bar: Bar,
    decision: Decision,
    *,
    largest: Tensor,
) -> Advanced:
    """Carry decisions through exits, gate, fill, stops and mark.

    `largest` (B,) is the largest position at the decision, which sorts entries by size.
    """
    equity = account.equity
    forced = forced_exit(rules.account, account)
    order, denial = _gated(rules, account, decision, equity)
    order = torch.where(forced != int(ExitReason.NONE), -account.units, order)
    denial = torch.where(forced != int(ExitReason.NONE), int(Denial.NONE), denial)
    base = bar.open if rules.episode.fill_at == "next_open" else account.mark
    cap = volume_cap(bar, rules.account.max_participation_frac)
    reserve = rules.limits.reserve_frac * equity
    fill = execute(rates, account, order, base, bar, cap, reserve)
    held = apply_fill(account, fill, largest)
    reason, exit_fill = forced, no_fill(order)
    if rules.account.watches_bars:
        stopped, exit_base = stop_within_bar(rules.account, held, bar)
        exit_order = torch.where(stopped != int(ExitReason.NONE), -held.units, 0.0)
        exit_fill = execute(rates, held, exit_order, exit_base, bar, cap - fill.units.abs())
        held = apply_fill(held, exit_fill, largest)
        reason = torch.where(exit_fill.units != 0.0, stopped, forced)
    after = mark_to_close(rules.account, rates, held, bar, equity)
    after = _remember(after, decision, denial)
    ends = episode_ends(after, rules.episode.episode_bars)
    return Advanced(account, after, decision, order, fill, exit_fill, reason, denial, *ends)


def _gated(
    rules: SimulatorParams, account: Account, decision: Decision, equity: Tensor
) -> tuple[Tensor, Tensor]:
    money = (account.units, account.mark, account.cash, equity)
    view = OrderView(decision.order, *money, account.stale_bars, account.halted)
    denial = judge(rules.limits, view)
    return torch.where(denial == int(Denial.NONE), decision.order, 0.0), denial


def _remember(account: Account, decision: Decision, denial: Tensor) -> Account:
    """Keep what the next decision and the rewards need to know of this one."""
    codes = torch.arange(len(Action), dtype=torch.int32, device=denial.device)[:, None]
    executed = torch.where(denial == int(Denial.NONE), decision.code, int(Action.HOLD))
    ages = (account.action_ages + 1).clamp_max(ACTION_MEMORY)
    return account._replace(
        smoothed=decision.smoothed,
        last_action=decision.selected,
        repeats=decision.repeats,
        violations=account.violations + decision.violation.int(),
        denials=account.denials + (denial != int(Denial.NONE)).int(),
        action_ages=torch.where(codes == executed, 0, ages),
    )
