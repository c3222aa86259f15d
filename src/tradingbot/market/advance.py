"""One bar of the market for a batch of accounts: the pure function everything else is built on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.market.account import ACTION_MEMORY, Account
from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.actions.decision import Decision
from tradingbot.market.actions.discrete import decode_discrete
from tradingbot.market.actions.target import decode_target
from tradingbot.market.bars import Bar
from tradingbot.market.buying_power import BuyingPower, buying_power_of
from tradingbot.market.costs import CostRates
from tradingbot.market.exits import close_delisted, forced_exit, stop_within_bar
from tradingbot.market.fills import execute, volume_cap
from tradingbot.market.ledger import FillBatch, apply_fill, no_fill
from tradingbot.market.marking import episode_ends, mark_to_close
from tradingbot.market.params import SimulatorParams
from tradingbot.market.quantity import round_units, truncate_units
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
    """Of a stop, a take-profit or a delisting within the bar."""
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

    The three parts are what a session does one after the other, with the venue's fill in between.
    """
    sent = send_order(rules, account, decision, largest)
    terms = open_terms(rules, account, bar)
    fill = fill_order(rules, rates, account, bar, sent.order, terms)
    return settle_bar(rules, rates, account, bar, sent, fill)


class SentOrder(NamedTuple):
    """What is sent to the market at the close of a bar; every field (B,) or a record of such."""

    decision: Decision
    order: Tensor
    """Signed units, after forced exits and the gate."""
    denial: Tensor
    """int32 `Denial`."""
    forced: Tensor
    """int32 `ExitReason` of an exit at the next open."""
    largest: Tensor
    """The largest position at the decision."""


def send_order(
    rules: SimulatorParams, account: Account, decision: Decision, largest: Tensor
) -> SentOrder:
    """Say what is sent: the decision if the gate lets it pass, or the whole position if it must."""
    equity = account.equity
    forced = forced_exit(rules.account, account)
    wanted = _truncate(rules, decision.order)
    order, denial = _gated(rules, account, wanted, equity)
    order = torch.where(forced != int(ExitReason.NONE), -account.units, order)
    denial = torch.where(forced != int(ExitReason.NONE), int(Denial.NONE), denial)
    return SentOrder(decision, order, denial, forced, largest)


class FillTerms(NamedTuple):
    """What orders (B,) are executed by; every field (B,) or ()."""

    base: Tensor
    """Price before costs."""
    cap: Tensor
    """Most units; 0 where nothing can be."""
    reserve_ccy: Tensor | float
    """Cash that buys must leave."""


def open_terms(rules: SimulatorParams, account: Account, bar: Bar) -> FillTerms:
    """Return the terms of orders at the open of the bar after their decision."""
    base = bar.open if rules.episode.fill_at == "next_open" else account.mark
    cap = volume_cap(bar, rules.account.max_participation_frac)
    return FillTerms(base, cap, rules.limits.reserve_frac * account.equity)


def exit_terms(rules: SimulatorParams, bar: Bar, base: Tensor, fill: FillBatch) -> FillTerms:
    """Return the terms of exits within the bar: the volume that the fill at the open left."""
    cap = volume_cap(bar, rules.account.max_participation_frac) - fill.units.abs()
    return FillTerms(base, cap, 0.0)


def fill_order(
    rules: SimulatorParams,
    rates: CostRates,
    account: Account,
    bar: Bar,
    order: Tensor,
    terms: FillTerms,
) -> FillBatch:
    """Execute orders (B,) in a bar; with `quantity_decimals`, in numbers as a venue reports them.

    Units then have that many decimals, price and fee nine.
    """
    fill = execute(rates, account, order, terms.base, bar, terms.cap, terms.reserve_ccy)
    if rules.account.quantity_decimals is None:
        return fill
    cut = _truncate(rules, fill.units)  # what volume or cash left of it
    fill = execute(rates, account, cut, terms.base, bar, terms.cap, terms.reserve_ccy)
    price, fee = (round_units(each, MAX_DECIMALS) for each in (fill.price, fill.fee))
    return fill._replace(price=price, fee=fee)


def settle_bar(
    rules: SimulatorParams,
    rates: CostRates,
    account: Account,
    bar: Bar,
    sent: SentOrder,
    fill: FillBatch,
    exit_fill: FillBatch | None = None,
) -> Advanced:
    """Book what was filled, and bring accounts to the close of the bar.

    Args:
        rules: Constants.
        rates: Costs, () or (B,).
        account: B accounts at the close before.
        bar: The bar of the fills.
        sent: What was sent.
        fill: What was executed of it at the open.
        exit_fill: What a stop or a take-profit executed within the bar; as simulated where None,
            delistings too.
    """
    closes_delisted = rules.account.closes_delisted and exit_fill is None
    held = _hold(rules, apply_fill(account, fill, sent.largest))
    reason = sent.forced
    if rules.account.watches_bars:
        stopped, exit_base = stop_within_bar(rules.account, held, bar)
        if exit_fill is None:
            exit_order = torch.where(stopped != int(ExitReason.NONE), -held.units, 0.0)
            terms = exit_terms(rules, bar, exit_base, fill)
            exit_fill = fill_order(rules, rates, held, bar, exit_order, terms)
        held = _hold(rules, apply_fill(held, exit_fill, sent.largest))
        reason = torch.where(exit_fill.units != 0.0, stopped, sent.forced)
    exit_fill = no_fill(sent.order) if exit_fill is None else exit_fill
    if closes_delisted:
        gone = close_delisted(rules.account, held, bar)
        held = _hold(rules, apply_fill(held, gone, sent.largest))
        is_gone = gone.units != 0.0  # in a bar without a market, where nothing else fills
        reason = torch.where(is_gone, int(ExitReason.DELISTED), reason)
        pairs = zip(gone, exit_fill, strict=True)
        exit_fill = FillBatch(*(torch.where(is_gone, new, old) for new, old in pairs))
    after = mark_to_close(rules.account, rates, held, bar, account.equity)
    after = _remember(after, sent.decision, sent.denial)
    ends = episode_ends(after, rules.episode.episode_bars)
    return Advanced(
        account, after, sent.decision, sent.order, fill, exit_fill, reason, sent.denial, *ends
    )


def _truncate(rules: SimulatorParams, units: Tensor) -> Tensor:
    decimals = rules.account.quantity_decimals
    return units if decimals is None else truncate_units(units, decimals)


def _hold(rules: SimulatorParams, account: Account) -> Account:
    """Return accounts whose units have the decimals of the venue: sums of floats miss by a bit."""
    decimals = rules.account.quantity_decimals
    if decimals is None:
        return account
    return account._replace(units=round_units(account.units, decimals))


def _gated(
    rules: SimulatorParams, account: Account, order: Tensor, equity: Tensor
) -> tuple[Tensor, Tensor]:
    money = (account.units, account.mark, account.cash, equity)
    view = OrderView(order, *money, account.stale_bars, account.halted)
    denial = judge(rules.limits, view)
    return torch.where(denial == int(Denial.NONE), order, 0.0), denial


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
