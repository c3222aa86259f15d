"""One bar of the market for one account, in plain Python: read it beside the simulator's page.

The batched `market.advance`, and with it every engine, is tested against this function step for
step. It is written by hand from `docs/concepts/simulator.md`, with branches where tensors select.
"""

from __future__ import annotations

from typing import NamedTuple

from reference.scalar_simulator.account import ScalarAccount
from reference.scalar_simulator.actions import ScalarDecision, read_action
from reference.scalar_simulator.bar import ScalarBar
from reference.scalar_simulator.book import open_book
from reference.scalar_simulator.exits import (
    DELISTED,
    NONE,
    close_delisted,
    forced_exit,
    stop_within_bar,
)
from reference.scalar_simulator.fill import NO_FILL, ScalarFill, execute_order
from reference.scalar_simulator.gate import judge_order
from reference.scalar_simulator.ledger import book_fill
from reference.scalar_simulator.marking import close_bar
from reference.scalar_simulator.quantity import cut_units, hold_units, report_fill
from reference.scalar_simulator.room import measure_room
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams

__all__ = ["ScalarAdvanced", "ScalarBar", "scalar_advance"]


class ScalarAdvanced(NamedTuple):
    """What one bar did to one account; `market.advance.Advanced` says what each is."""

    before: ScalarAccount
    after: ScalarAccount
    decision: ScalarDecision
    order: float
    fill: ScalarFill
    exit_fill: ScalarFill
    exit_reason: int
    denial: int
    terminated: bool
    truncated: bool


def scalar_advance(
    rules: SimulatorParams,
    costs: CostProfile,
    account: ScalarAccount,
    bar: ScalarBar,
    action: float,
) -> ScalarAdvanced:
    """Decide at the close of bar t, fill at the open of t + 1, mark at its close.

    Args:
        rules: Constants.
        costs: Rates.
        account: At the close of t.
        bar: Bar t + 1.
        action: Number or code in the space of `rules.action.space`.
    """
    limits, equity = rules.limits, account.cash + account.units * account.mark
    room = measure_room(limits, costs, account, equity)
    decision = read_action(rules, account, room, action)

    reason, denial, order = forced_exit(rules.account, account), 0, -account.units
    decimals = rules.account.quantity_decimals
    if reason == NONE:
        wanted = cut_units(decision.order, decimals)
        denial = judge_order(limits, account, wanted, equity)
        order = wanted if denial == 0 else 0.0

    book, fill, exit_fill = open_book(account), NO_FILL, NO_FILL
    cap_units = rules.account.max_participation_frac * bar.volume if bar.tradable > 0.0 else 0.0
    if order != 0.0 and cap_units > 0.0:
        base = bar.open if rules.episode.fill_at == "next_open" else account.mark
        reserve_ccy = limits.reserve_frac * equity
        fill = execute_order(costs, book, order, base, bar, cap_units, reserve_ccy)
        if decimals is not None:
            part = cut_units(fill.units, decimals)
            fill = execute_order(costs, book, part, base, bar, cap_units, reserve_ccy)
            fill = report_fill(fill)
        if fill.units != 0.0:
            book = hold_units(book_fill(book, fill, room.largest), decimals)

    if book.units != 0.0 and cap_units > 0.0:
        stop, base = stop_within_bar(rules.account, book, bar)
        if stop != NONE:
            left_units = cap_units - abs(fill.units)
            exit_fill = execute_order(costs, book, -book.units, base, bar, left_units)
            if decimals is not None:
                part = cut_units(exit_fill.units, decimals)
                exit_fill = execute_order(costs, book, part, base, bar, left_units)
                exit_fill = report_fill(exit_fill)
            if exit_fill.units != 0.0:
                book = hold_units(book_fill(book, exit_fill, room.largest), decimals)
                reason = stop

    gone = close_delisted(rules.account, book, bar, account.stale_bars)
    if gone.units != 0.0:
        exit_fill = gone if decimals is None else report_fill(gone)
        book = hold_units(book_fill(book, exit_fill, room.largest), decimals)
        reason = DELISTED

    after = close_bar(rules.account, costs, account, book, bar, decision, denial)
    terminated, truncated = _ends(after, rules.episode.episode_bars)
    return ScalarAdvanced(
        account,
        after,
        decision,
        order,
        fill,
        exit_fill,
        reason,
        denial,
        terminated,
        truncated,
    )


def _ends(account: ScalarAccount, episode_bars: int) -> tuple[bool, bool]:
    """Tell ruin from the end of the window; never both."""
    flat = account.units == 0.0
    ruined = (account.halted != 0 and flat) or account.cash + account.units * account.mark <= 0.0
    return ruined, account.steps >= episode_bars and not ruined
