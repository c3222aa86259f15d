"""Positions closed by rule: at the next open, within the bar, and where a symbol is gone."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.denial import ExitReason
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.market.ledger import FillBatch
from tradingbot.market.params import NEVER_FRAC, AccountRules
from tradingbot.market.quantity import round_units


def forced_exit(rules: AccountRules, account: Account) -> Tensor:
    """Say which positions must be closed at the next open, and why: (B,) int32 `ExitReason`."""
    units = account.units
    short_value = (-units).clamp_min(0.0) * account.mark
    held_too_long = account.holding_bars >= rules.max_holding_bars
    reason = torch.where(held_too_long, int(ExitReason.MAX_HOLDING), 0)
    reason = torch.where(is_beyond_loss(rules, account), int(ExitReason.POSITION_LOSS), reason)
    called = (units < 0.0) & (account.cash < rules.maintenance_frac * short_value)
    reason = torch.where(called, int(ExitReason.MARGIN_CALL), reason)
    reason = torch.where(account.halted != 0, int(ExitReason.EMERGENCY), reason)
    return torch.where(units != 0.0, reason, int(ExitReason.NONE)).int()


def is_beyond_loss(rules: AccountRules, account: Account) -> Tensor:
    """Tell which positions (B,) lost `position_loss_frac` of their entry price, or hold nothing."""
    move = torch.sign(account.units) * (account.mark - account.entry)
    return move <= -min(rules.position_loss_frac, NEVER_FRAC) * account.entry


def close_delisted(rules: AccountRules, account: Account, bar: Bar) -> FillBatch:
    """Close positions (B,) in symbols that have had no bar for so long, at what is left of them.

    It reads the past alone: a symbol that comes back was closed as well. The haircut is against the
    position, long or short, whatever cash there is, and there is no commission.
    """
    absent = (bar.tradable == 0.0) & (account.stale_bars + 1 >= rules.delisted_after_bars)
    is_gone = absent & (account.units != 0.0)
    price = bar.close * (1.0 - torch.sign(account.units) * rules.delisting_haircut_frac)
    if rules.quantity_decimals is not None:
        price = round_units(price, MAX_DECIMALS)
    none = torch.zeros_like(price)
    return FillBatch(
        units=torch.where(is_gone, -account.units, none),
        price=torch.where(is_gone, price, none),
        base=torch.where(is_gone, bar.close, none),
        fee=none,
    )


def stop_within_bar(rules: AccountRules, account: Account, bar: Bar) -> tuple[Tensor, Tensor]:
    """Find stops and take-profits that a bar touches; where both, the stop.

    Returns:
        (B,) int32 `ExitReason`, and (B,) the price before costs at which the position leaves; the
        open where it stays.
    """
    long, short = account.units > 0.0, account.units < 0.0
    entry, side = account.entry, torch.sign(account.units)
    stop = entry * (1.0 - side * min(rules.stop_loss_frac, NEVER_FRAC))
    stopped = (long & (bar.low <= stop)) | (short & (bar.high >= stop))
    stop_base = torch.where(long, torch.minimum(bar.open, stop), torch.maximum(bar.open, stop))
    target = entry * (1.0 + side * min(rules.take_profit_frac, NEVER_FRAC))
    taken = (long & (bar.high >= target)) | (short & (bar.low <= target))
    above, below = torch.maximum(bar.open, target), torch.minimum(bar.open, target)
    target_base = torch.where(long, above, below)
    reason = torch.where(taken, int(ExitReason.TAKE_PROFIT), 0)
    reason = torch.where(stopped, int(ExitReason.STOP_LOSS), reason)
    base = torch.where(stopped, stop_base, torch.where(taken, target_base, bar.open))
    return reason.int(), base
