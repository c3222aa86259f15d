"""The end of a bar for one account: borrow is paid, the position marked, the rest kept."""

from __future__ import annotations

from reference.scalar_simulator.account import ScalarAccount
from reference.scalar_simulator.actions import HOLD, ScalarDecision
from reference.scalar_simulator.bar import ScalarBar
from reference.scalar_simulator.book import Book
from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.costs import CostProfile
from tradingbot.market.marking import MOMENT_RATE
from tradingbot.market.params import AccountRules


def close_bar(
    rules: AccountRules,
    costs: CostProfile,
    before: ScalarAccount,
    book: Book,
    bar: ScalarBar,
    decision: ScalarDecision,
    denial: int,
) -> ScalarAccount:
    """Bring an account to the close of a bar, after its fills."""
    units, close = book.units, bar.close
    borrow = costs.borrow_frac_per_bar * -units * close if units < 0.0 else 0.0
    cash = book.cash - borrow
    equity = cash + units * close
    equity_before = before.cash + before.units * before.mark
    change = equity / equity_before - 1.0 if equity_before > 0.0 else 0.0
    square = change * change
    lost = equity <= (1.0 - rules.portfolio_loss_frac) * rules.initial_cash_ccy
    return ScalarAccount(
        cash,
        units,
        book.entry,
        close,
        equity if equity > before.peak else before.peak,
        book.realised - borrow,
        book.trade_pnl - borrow,
        book.gross_profit,
        book.gross_loss,
        book.commission_paid,
        book.slippage_paid,
        before.borrow_paid + borrow,
        book.turnover,
        decision.smoothed,
        before.return_sum + change,
        before.return_squares + square,
        before.downside_squares + (square if change < 0.0 else 0.0),
        before.return_mean + MOMENT_RATE * (change - before.return_mean),
        before.return_power + MOMENT_RATE * (square - before.return_power),
        before.row + 1,
        before.episode,
        before.steps + 1,
        book.holding_bars + 1 if units != 0.0 else 0,
        book.adds,
        book.partial_exits,
        book.entry_class,
        decision.selected,
        decision.repeats,
        before.violations + decision.violation,
        before.denials + (denial != 0),
        book.n_trades,
        book.n_wins,
        0 if bar.tradable > 0.0 else before.stale_bars + 1,
        1 if lost else before.halted,
        _aged(before.action_ages, decision.code if denial == 0 else HOLD),
    )


def _aged(ages: tuple[int, ...], executed: int) -> tuple[int, ...]:
    older = [age + 1 if age < ACTION_MEMORY else ACTION_MEMORY for age in ages]
    older[executed] = 0
    return tuple(older)
