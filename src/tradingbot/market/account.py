"""The state of a batch of accounts: what `advance` takes and returns, nothing derived."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.action import Action


class Account(NamedTuple):
    """B accounts at the close of their current bar. Money in account currency, all fields (B,).

    The first group is floating point (float32 or float64), the second int32; `action_ages` holds
    one row per action of `domain.action.Action`.
    """

    cash: Tensor
    units: Tensor
    """Signed holding, fractional."""
    entry: Tensor
    """Average price of the position; 0 when flat."""
    mark: Tensor
    """Last close seen."""
    peak: Tensor
    """Highest equity so far."""
    realised: Tensor
    """Closed P&L net of commission and borrow."""
    trade_pnl: Tensor
    """Realised P&L of the trade that is open."""
    gross_profit: Tensor
    """Sum over profitable trades."""
    gross_loss: Tensor
    """Sum over lost trades, positive."""
    commission_paid: Tensor
    slippage_paid: Tensor
    """Slippage, spread and impact."""
    borrow_paid: Tensor
    turnover: Tensor
    """Traded notional."""
    smoothed: Tensor
    """Exponentially smoothed action."""
    return_sum: Tensor
    return_squares: Tensor
    downside_squares: Tensor
    return_mean: Tensor
    """Moving first moment of returns, for the differential Sharpe."""
    return_power: Tensor
    """Moving second moment of returns."""

    row: Tensor
    """Current bar, as a row of the market: symbol · T + bar."""
    episode: Tensor
    """Episodes this lane has begun before this one."""
    steps: Tensor
    """Bars since the episode began."""
    holding_bars: Tensor
    adds: Tensor
    partial_exits: Tensor
    entry_class: Tensor
    """1, 2, 3: small, medium, large; 0 when flat."""
    last_action: Tensor
    """The action selected last, executed or not."""
    repeats: Tensor
    violations: Tensor
    denials: Tensor
    n_trades: Tensor
    n_wins: Tensor
    stale_bars: Tensor
    halted: Tensor
    """1 after the emergency stop."""
    action_ages: Tensor
    """(7, B) steps since each action was executed, at most `ACTION_MEMORY`."""

    @property
    def equity(self) -> Tensor:
        """(B,) cash and the position at the last close."""
        return self.cash + self.units * self.mark


ACTION_MEMORY = 50
"""Steps for which an executed action counts as recent."""

FLOAT_FIELDS = Account._fields[: Account._fields.index("row")]
COUNT_FIELDS = Account._fields[Account._fields.index("row") : -1]


def open_accounts(
    initial_cash_ccy: float, row: Tensor, mark: Tensor, episode: Tensor | None = None
) -> Account:
    """Open accounts that hold cash only.

    Args:
        initial_cash_ccy: Cash of each.
        row: (B,) int32 row of the bar at whose close they begin.
        mark: (B,) close of that bar; its dtype is that of the account.
        episode: (B,) int32 number of the episode; 0 by default.
    """
    # Fields may share a tensor: nothing writes into an account, a step makes a new one.
    money = dict.fromkeys(FLOAT_FIELDS, torch.zeros_like(mark))
    counts = dict.fromkeys(COUNT_FIELDS, torch.zeros_like(row))
    cash = torch.full_like(mark, initial_cash_ccy)
    money |= {"cash": cash, "peak": cash, "mark": mark}
    counts |= {"row": row}
    if episode is not None:
        counts |= {"episode": episode}
    ages = torch.full((len(Action), *row.shape), ACTION_MEMORY, dtype=row.dtype, device=row.device)
    return Account(**money, **counts, action_ages=ages)


def select(condition: Tensor, chosen: Account, other: Account) -> Account:
    """Take each account from `chosen` where `condition` (B,) holds, else from `other`."""
    return Account(*(torch.where(condition, a, b) for a, b in zip(chosen, other, strict=True)))
