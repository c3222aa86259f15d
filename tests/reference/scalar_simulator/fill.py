"""Executing one order in one bar: never more than volume and cash allow."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from reference.scalar_simulator.bar import ScalarBar
from reference.scalar_simulator.book import Book
from tradingbot.market.costs import WORST_FRAC, CostProfile

KEEP = 1.0 - 8.0 * sys.float_info.epsilon
"""Share of the cash that a buy may use, so that rounding cannot overdraw it."""
SPECK_FRAC = 1.0e-9
"""What would be left of a position, of what it was, and is filled as well."""


class ScalarFill(NamedTuple):
    """One execution; `market.ledger.Fill` says what each is."""

    units: float
    price: float
    base: float
    fee: float

    @property
    def slippage(self) -> float:
        """What slippage, spread and impact cost, in account currency."""
        return abs(self.units) * abs(self.price - self.base)

    @property
    def value(self) -> float:
        """Traded notional."""
        return abs(self.units) * self.price


NO_FILL = ScalarFill(0.0, 0.0, 0.0, 0.0)


def execute_order(
    costs: CostProfile,
    book: Book,
    order: float,
    base: float,
    bar: ScalarBar,
    cap_units: float,
    reserve_ccy: float = 0.0,
) -> ScalarFill:
    """Fill an order at `base` and costs, up to `cap_units`, which is 0 where nothing can be.

    A buy leaves `reserve_ccy` of the cash.
    """
    size = min(abs(order), cap_units)
    if size <= 0.0:
        return NO_FILL
    worse = costs.slippage_frac + costs.spread_frac / 2.0
    if costs.impact_coef > 0.0:
        worse += costs.impact_coef * bar.volatility * math.sqrt(size / bar.volume)
    worse = min(worse, WORST_FRAC)
    side = 1.0 if order > 0.0 else -1.0
    price = base * (1.0 + side * worse)
    if order > 0.0:
        payable = max(book.cash - reserve_ccy, 0.0) / (price * (1.0 + costs.commission_frac)) * KEEP
        size = min(size, max(payable, -book.units))
        if size <= 0.0:
            return NO_FILL
    held = -side * book.units
    if held > 0.0 and abs(held - size) <= SPECK_FRAC * held:
        size = held
    return ScalarFill(side * size, price, base, costs.commission_frac * size * price)
