"""One lane as plain numbers: its account, and what a bar did to it."""

from __future__ import annotations

from typing import NamedTuple

from tradingbot.market.account import ACTION_MEMORY


class LaneAccount(NamedTuple):
    """One account at the close of its current bar; `market.account.Account` says what each is."""

    cash: float = 0.0
    units: float = 0.0
    entry: float = 0.0
    mark: float = 0.0
    peak: float = 0.0
    realised: float = 0.0
    trade_pnl: float = 0.0
    gross_profit: float = 0.0
    gross_loss: float = 0.0
    commission_paid: float = 0.0
    slippage_paid: float = 0.0
    borrow_paid: float = 0.0
    turnover: float = 0.0
    smoothed: float = 0.0
    return_sum: float = 0.0
    return_squares: float = 0.0
    downside_squares: float = 0.0
    return_mean: float = 0.0
    return_power: float = 0.0
    row: int = 0
    episode: int = 0
    steps: int = 0
    holding_bars: int = 0
    adds: int = 0
    partial_exits: int = 0
    entry_class: int = 0
    last_action: int = 0
    repeats: int = 0
    violations: int = 0
    denials: int = 0
    n_trades: int = 0
    n_wins: int = 0
    stale_bars: int = 0
    halted: int = 0
    action_ages: tuple[int, ...] = (ACTION_MEMORY,) * 7
    """One per action of `domain.action.Action`."""

    @property
    def equity(self) -> float:
        """Cash and the position at the last close."""
        return self.cash + self.units * self.mark


class LaneFill(NamedTuple):
    """One execution; all 0 where nothing was executed. `market.ledger.Fill` says what each is."""

    units: float
    price: float
    fee: float


class LaneStep(NamedTuple):
    """What one bar did to one account; `market.advance.Advanced` says what each is."""

    before: LaneAccount
    after: LaneAccount
    code: int
    """The action that was executed."""
    denial: int
    fill: LaneFill
    exit_fill: LaneFill
    exit_reason: int
