"""Fills of a venue as the simulator books them, and a bar on which nothing was decided."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.domain.position import Fill
from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import SentOrder
from tradingbot.market.ledger import FillBatch


def batch_fills(fills: Sequence[Fill], symbols: Sequence[str], base: Tensor) -> FillBatch:
    """Add up fills of one bar by symbol, at the mean price of their units.

    Args:
        fills: Of any of the symbols.
        symbols: N names.
        base: (N,) price before costs.

    Returns:
        (N,) float64; exact sums, rounded once.
    """
    units, value, fee = ([Decimal(0)] * len(symbols) for _ in range(3))
    prices: list[set[Decimal]] = [set() for _ in symbols]
    for fill in fills:
        lane = symbols.index(fill.symbol)
        units[lane] += fill.signed_units
        value[lane] += fill.signed_units * fill.price
        fee[lane] += fill.fee_ccy
        prices[lane].add(fill.price)
    mean = [
        0.0 if not total else float(next(iter(own)) if len(own) == 1 else paid / total)
        for total, paid, own in zip(units, value, prices, strict=True)
    ]
    made = torch.tensor([float(total) for total in units], dtype=base.dtype)
    return FillBatch(
        units=made,
        price=torch.tensor(mean, dtype=base.dtype),
        base=torch.where(made != 0.0, base, 0.0),
        fee=torch.tensor([float(each) for each in fee], dtype=base.dtype),
    )


def keep_orders(sent: SentOrder, kept: Sequence[bool]) -> SentOrder:
    """Return what is sent (N,) where only some of the orders are."""
    return sent._replace(order=torch.where(torch.tensor(kept), sent.order, 0.0))


def send_nothing(account: Account) -> SentOrder:
    """Return what is sent where nothing was decided: nothing, also by exits."""
    zeros, none = torch.zeros_like(account.cash), torch.zeros_like(account.repeats)
    hold = torch.full_like(none, int(Action.HOLD))
    decision = Decision(zeros, hold, hold, none.bool(), account.smoothed, none)
    denial, forced = (torch.full_like(none, int(each)) for each in (Denial.NONE, ExitReason.NONE))
    return SentOrder(decision, zeros, denial, forced, zeros)
