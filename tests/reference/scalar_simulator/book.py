"""The part of one account that fills change."""

from __future__ import annotations

from typing import NamedTuple

from reference.scalar_simulator.account import ScalarAccount


class Book(NamedTuple):
    """Money, position and trade statistics; `market.account.Account` says what each is."""

    cash: float
    units: float
    entry: float
    realised: float
    trade_pnl: float
    gross_profit: float
    gross_loss: float
    commission_paid: float
    slippage_paid: float
    turnover: float
    holding_bars: int
    adds: int
    partial_exits: int
    entry_class: int
    n_trades: int
    n_wins: int


def open_book(account: ScalarAccount) -> Book:
    """Take from an account what fills change."""
    return Book(
        account.cash,
        account.units,
        account.entry,
        account.realised,
        account.trade_pnl,
        account.gross_profit,
        account.gross_loss,
        account.commission_paid,
        account.slippage_paid,
        account.turnover,
        account.holding_bars,
        account.adds,
        account.partial_exits,
        account.entry_class,
        account.n_trades,
        account.n_wins,
    )
