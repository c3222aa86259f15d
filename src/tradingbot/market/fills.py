"""Executing an order in a bar: nothing without a market, never more than volume and cash allow."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostRates, fill_price
from tradingbot.market.ledger import FillBatch
from tradingbot.risk.rule import slack


def execute(
    rates: CostRates,
    account: Account,
    order: Tensor,
    base: Tensor,
    bar: Bar,
    cap: Tensor,
    reserve_ccy: Tensor | float = 0.0,
) -> FillBatch:
    """Fill orders against a bar.

    Args:
        rates: Costs.
        account: B accounts before.
        order: (B,) signed units.
        base: (B,) price before costs.
        bar: The bar they are executed in.
        cap: (B,) most units that may be executed; 0 where nothing can be.
        reserve_ccy: Cash that buys must leave, () or (B,).
    """
    size = torch.minimum(order.abs(), cap)
    side = torch.sign(order)
    price = fill_price(rates, base, side * size, bar.volume, bar.volatility)
    keep = 1.0 - 8.0 * torch.finfo(price.dtype).eps
    payable = (account.cash - reserve_ccy).clamp_min(0.0)
    affordable = payable / (price * (1.0 + rates.commission_frac)) * keep
    affordable = torch.maximum(affordable, (-account.units).clamp_min(0.0))
    size = torch.where(side > 0.0, torch.minimum(size, affordable), size)
    held = account.units.abs()
    # A speck left by rounding goes as well, so that positions end and every unit is accounted for.
    closes = (side * account.units < 0.0) & ((held - size).abs() <= slack(price) * held)
    size = torch.where(closes & (size > 0.0), held, size)
    filled = size > 0.0
    units = torch.where(filled, side * size, 0.0)
    price = torch.where(filled, price, 0.0)
    return FillBatch(
        units=units,
        price=price,
        base=torch.where(filled, base, 0.0),
        fee=rates.commission_frac * size * price,
    )


def volume_cap(bar: Bar, max_participation_frac: float) -> Tensor:
    """Most units (B,) that may be executed in a bar; 0 where the symbol did not trade."""
    return max_participation_frac * bar.volume * bar.tradable
