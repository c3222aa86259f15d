"""From fills of the simulator to executions of a venue: turns, limits, parts, exact numbers."""

from __future__ import annotations

from decimal import Decimal

import torch

from tradingbot.domain.order_intent import Side
from tradingbot.market.ledger import FillBatch
from tradingbot.runtime.brokers.paper.rows import WorkingOrder

_STEP = Decimal("1e-9")


def take_turns(orders: list[WorkingOrder]) -> list[list[WorkingOrder]]:
    """Put orders into turns in which every symbol occurs once, in the order of sending."""
    turns: list[list[WorkingOrder]] = []
    for order in orders:
        for turn in turns:
            if all(each.symbol != order.symbol for each in turn):
                turn.append(order)
                break
        else:
            turns.append([order])
    return turns


def is_beyond_limit(order: WorkingOrder, fill: FillBatch, lane: int) -> bool:
    """Tell whether a fill's price is worse than the order's limit."""
    if order.limit_price is None or fill.units[lane].item() == 0.0:
        return False
    price = exact_of(fill.price[lane].item())
    return price > order.limit_price if order.side is Side.BUY else price < order.limit_price


def split_fill(units: Decimal, fee: Decimal, parts: int) -> list[tuple[Decimal, Decimal]]:
    """Split a fill into executions of units above 0 that add up exactly."""
    parts = min(parts, int(units / _STEP))
    shares = []
    for left in range(parts, 0, -1):
        part_units = units if left == 1 else (units / left).quantize(_STEP)
        part_fee = fee if left == 1 else (fee / left).quantize(_STEP)
        shares.append((part_units, part_fee))
        units, fee = units - part_units, fee - part_fee
    return shares


def exact_of(number: float) -> Decimal:
    """Return a number of nine decimals, which this float is by construction."""
    return Decimal(number).quantize(_STEP)


def add_fills(first: FillBatch, second: FillBatch) -> FillBatch:
    """Return two fills of a bar as one, at the mean price of their units."""
    units = first.units + second.units
    size = first.units.abs() + second.units.abs()
    value = first.value + second.value
    single = torch.where(first.units == 0.0, second.price, first.price)
    both = (first.units != 0.0) & (second.units != 0.0)
    price = torch.where(both, value / torch.where(size > 0.0, size, 1.0), single)
    base = torch.where(first.units == 0.0, second.base, first.base)
    return FillBatch(units, price, base, first.fee + second.fee)
