"""The end of a bar: borrow is paid, positions are marked, ends are told apart."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostRates
from tradingbot.market.params import AccountRules

MOMENT_RATE = 1.0 / 50.0
"""η of the moving moments of returns."""


def mark_to_close(
    rules: AccountRules, rates: CostRates, account: Account, bar: Bar, equity_before: Tensor
) -> Account:
    """Bring accounts (B,) to the close of a bar; `equity_before` (B,) is that of the bar before."""
    borrow = rates.borrow_frac_per_bar * (-account.units).clamp_min(0.0) * bar.close
    cash = account.cash - borrow
    equity = cash + account.units * bar.close
    solvent = equity_before > 0.0
    change = torch.where(solvent, equity / torch.where(solvent, equity_before, 1.0) - 1.0, 0.0)
    held = account.units != 0.0
    loss_limit = (1.0 - rules.portfolio_loss_frac) * rules.initial_cash_ccy
    square, loss = change * change, change.clamp_max(0.0)
    return account._replace(
        cash=cash,
        mark=bar.close,
        peak=torch.maximum(account.peak, equity),
        realised=account.realised - borrow,
        trade_pnl=account.trade_pnl - borrow,
        borrow_paid=account.borrow_paid + borrow,
        return_sum=account.return_sum + change,
        return_squares=account.return_squares + square,
        downside_squares=account.downside_squares + loss * loss,
        return_mean=account.return_mean + MOMENT_RATE * (change - account.return_mean),
        return_power=account.return_power + MOMENT_RATE * (square - account.return_power),
        row=account.row + 1,
        steps=account.steps + 1,
        holding_bars=torch.where(held, account.holding_bars + 1, 0),
        stale_bars=torch.where(bar.tradable > 0.0, 0, account.stale_bars + 1),
        halted=account.halted | (equity <= loss_limit).int(),
    )


def episode_ends(account: Account, episode_bars: int) -> tuple[Tensor, Tensor]:
    """Tell ruin from the end of the window; never both.

    Returns:
        (B,) bool terminated: halted and flat, or no equity left; (B,) bool truncated.
    """
    terminated = ((account.halted != 0) & (account.units == 0.0)) | (account.equity <= 0.0)
    return terminated, (account.steps >= episode_bars) & ~terminated
