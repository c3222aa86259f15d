"""Bookkeeping: what a fill does to cash, position, entry price and the record of trades."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.actions.decision import size_class


class FillBatch(NamedTuple):
    """Executions of B accounts; every field (B,), all 0 where nothing was executed."""

    units: Tensor
    """Signed."""
    price: Tensor
    base: Tensor
    """Price before slippage, spread and impact."""
    fee: Tensor
    """Commission, in account currency."""

    @property
    def slippage(self) -> Tensor:
        """(B,) what slippage, spread and impact cost, in account currency."""
        return self.units.abs() * (self.price - self.base).abs()

    @property
    def value(self) -> Tensor:
        """(B,) traded notional."""
        return self.units.abs() * self.price


def no_fill(order: Tensor) -> FillBatch:
    """Return fills (B,) in which nothing was executed."""
    return FillBatch(*(torch.zeros_like(order) for _ in FillBatch._fields))


def apply_fill(account: Account, fill: FillBatch, largest: Tensor) -> Account:
    """Book fills.

    Args:
        account: B accounts before.
        fill: One fill each.
        largest: (B,) largest position at the decision, which sorts entries by size.
    """
    units, quantity = account.units, fill.units
    filled = quantity != 0.0
    # Signs, not products: a product of small numbers is 0 in float32.
    side = torch.sign(units)
    against = side * quantity < 0.0
    closed = torch.where(against, torch.minimum(quantity.abs(), units.abs()), 0.0)
    after = units + quantity
    realised = closed * side * (fill.price - account.entry) - fill.fee
    opened = filled & (after != 0.0) & ((units == 0.0) | (side * after < 0.0))
    added = filled & ~against & (units != 0.0)
    # Dividing by 1 where nothing is held keeps gradients finite.
    size = torch.where(added, after.abs(), 1.0)
    average = (units.abs() * account.entry + quantity.abs() * fill.price) / size
    entry = torch.where(opened, fill.price, torch.where(added, average, account.entry))
    trade_pnl = account.trade_pnl + realised
    ended = against & (side * after <= 0.0)
    won = ended & (trade_pnl > 0.0)
    lost = ended & ~won
    fresh = opened | (after == 0.0)
    return account._replace(
        cash=account.cash - quantity * fill.price - fill.fee,
        units=after,
        entry=torch.where(after == 0.0, 0.0, entry),
        realised=account.realised + realised,
        trade_pnl=torch.where(ended, 0.0, trade_pnl),
        gross_profit=account.gross_profit + torch.where(won, trade_pnl, 0.0),
        gross_loss=account.gross_loss - torch.where(lost, trade_pnl, 0.0),
        commission_paid=account.commission_paid + fill.fee,
        slippage_paid=account.slippage_paid + fill.slippage,
        turnover=account.turnover + fill.value,
        n_trades=account.n_trades + ended.int(),
        n_wins=account.n_wins + won.int(),
        holding_bars=torch.where(fresh, 0, account.holding_bars),
        adds=torch.where(fresh, 0, account.adds + added.int()),
        partial_exits=torch.where(fresh, 0, account.partial_exits + (against & ~ended).int()),
        entry_class=torch.where(
            opened,
            size_class(after.abs() * fill.price, largest),
            torch.where(after == 0.0, 0, account.entry_class),
        ),
    )
