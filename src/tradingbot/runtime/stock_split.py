"""Splits: units that change without a trade, and fractions that a venue pays for in cash."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_DOWN, Decimal
from typing import Protocol

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.domain.exact_number import MAX_DECIMALS, add, divide, multiply
from tradingbot.domain.position import Position

UNIT_STEP = Decimal(1).scaleb(-MAX_DECIMALS)
CENT = Decimal("0.01")


@dataclass(frozen=True)
class StockSplit:
    """Units of a symbol changed without a trade: `numerator` new ones for `denominator` old."""

    symbol: str
    numerator: int
    denominator: int
    paid_units: Decimal = Decimal(0)
    """New units, of the sign of the position, that the venue paid for instead of giving them."""
    cash_ccy: Decimal = Decimal(0)
    """What it paid; negative where units that were short are bought."""

    def __post_init__(self) -> None:
        if self.numerator < 1 or self.denominator < 1:
            rule = "a split must be of whole numbers above 0"
            was = f"{self.numerator}:{self.denominator}"
            raise TradingError(rule, was=was, where=f"StockSplit {self.symbol}")

    def units(self, old: Decimal, step: Decimal = UNIT_STEP) -> Decimal:
        """Return units after the split, cut off to a venue's decimals."""
        units = divide(multiply(old, Decimal(self.numerator)), Decimal(self.denominator))
        return units.quantize(step, ROUND_DOWN)

    def price(self, old: Decimal) -> Decimal:
        """Return a price after the split."""
        price = divide(multiply(old, Decimal(self.denominator)), Decimal(self.numerator))
        return max(price.quantize(UNIT_STEP), UNIT_STEP)


@dataclass(frozen=True)
class AnnouncedSplit:
    """A split that a venue or a person says took place."""

    symbol: str
    numerator: int
    denominator: int
    ex_date: date
    """The exchange's day from which on prices are the new ones."""
    cash_ccy: Decimal | None = None
    """What the venue paid for fractions; None where it does not say."""


class SplitSource(Protocol):
    """Where a session learns of splits."""

    def due(self, symbols: tuple[str, ...], after: date, until: date) -> tuple[AnnouncedSplit, ...]:
        """Return splits whose first day is after one and not after another, by their days.

        Raises:
            BrokerUnavailableError: If it cannot be told.
        """
        ...


def split_of(event: StockSplitApplied) -> StockSplit:
    """Return the split that an entry of the journal tells of."""
    told = (event.symbol, event.numerator, event.denominator)
    return StockSplit(*told, event.paid_units, event.cash_ccy)


def split_units(position: Position, split: StockSplit) -> Position:
    """Return a position after a split; what its units cost stays, so that entries are re-based.

    Units that were paid for are closed: their cash less their cost is profit.
    """
    whole = split.units(position.units)
    left = add(whole, -split.paid_units)
    if left * whole <= 0:  # all of it was paid for, or is less than a venue's smallest part
        left, released = Decimal(0), position.cost_ccy
    else:
        released = divide(multiply(position.cost_ccy, split.paid_units), whole)
    profit = add(position.realised_pnl_ccy, split.cash_ccy, -released)
    cost = add(position.cost_ccy, -released)
    return replace(position, units=left, cost_ccy=cost, realised_pnl_ccy=profit)
