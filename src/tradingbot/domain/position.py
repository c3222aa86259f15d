"""Fills, and the holding of one symbol as they made it: exact, whatever their order and number.

The rules are those of `market/ledger.py`, which books the same in tensors: adding averages the
entry, reducing realises profit against it, and a fill that turns the position closes all of it
and opens the rest at its own price. A fill is a fact that never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import add, divide, multiply, require_exact
from tradingbot.domain.order_intent import Side, require_zone
from tradingbot.domain.symbol import require_symbol


@dataclass(frozen=True)
class Fill:
    """What a venue executed.

    Raises:
        TradingError: If units or price are not above 0, a number is no exact one, an id is empty,
            or the time has no zone.
    """

    fill_id: str
    """The venue's id of the execution: a replay has the same."""
    client_order_id: str
    symbol: str
    side: Side
    quantity_units: Decimal
    """Above 0; the side says which way."""
    price: Decimal
    filled_at: datetime
    fee_ccy: Decimal = Decimal(0)
    """Paid; negative where the venue pays."""

    def __post_init__(self) -> None:
        where = f"Fill {self.fill_id}"
        require_symbol(self.symbol, where=where)
        for name in ("fill_id", "client_order_id"):
            if not getattr(self, name).strip():
                raise TradingError(f"{name} must not be empty", was=repr(""), where=where)
        require_exact(self.quantity_units, "quantity_units", where, positive=True)
        require_exact(self.price, "price", where, positive=True)
        require_exact(self.fee_ccy, "fee_ccy", where)
        require_zone(self.filled_at, "filled_at", where)

    @property
    def signed_units(self) -> Decimal:
        """Units, negative for a sale."""
        return self.side.sign * self.quantity_units

    @property
    def notional_ccy(self) -> Decimal:
        """Units × price, exact."""
        return multiply(self.quantity_units, self.price)


@dataclass(frozen=True)
class Position:
    """Signed units and what they cost.

    The identity that always holds, to the last digit:
    `realised_pnl_ccy − cost_ccy = −Σ signed units · price − Σ fees`.

    Raises:
        TradingError: If the cost does not go with the units.
    """

    symbol: str
    units: Decimal = Decimal(0)
    """Positive long, negative short."""
    cost_ccy: Decimal = Decimal(0)
    """Units × average entry; of the sign of the units."""
    realised_pnl_ccy: Decimal = Decimal(0)
    """Of everything closed so far, net of all fees."""
    fees_ccy: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        require_symbol(self.symbol, where="Position")
        if (self.units > 0) != (self.cost_ccy > 0) or (self.units < 0) != (self.cost_ccy < 0):
            raise TradingError(
                "cost_ccy must have the sign of the units",
                was=f"{self.cost_ccy} for {self.units} units",
                where=f"Position {self.symbol}",
                remedy="Build a position from its fills with apply_fill",
            )

    @property
    def is_flat(self) -> bool:
        """Whether nothing is held."""
        return self.units == 0

    @property
    def average_entry(self) -> Decimal | None:
        """Price at which the units were opened, on average; None where nothing is held."""
        return None if self.is_flat else divide(self.cost_ccy, self.units)

    def unrealised_pnl_ccy(self, mark: Decimal) -> Decimal:
        """Profit of what is held at a price."""
        return add(multiply(self.units, mark), -self.cost_ccy)


def apply_fill(position: Position, fill: Fill) -> Position:
    """Book a fill.

    Raises:
        TradingError: If it is of another symbol.

    Example:
        >>> from datetime import UTC, datetime
        >>> from tradingbot.domain.order_intent import Side
        >>> at = datetime(2026, 1, 5, tzinfo=UTC)
        >>> bought = Fill("1", "a", "SPY", Side.BUY, Decimal(2), Decimal(100), at)
        >>> sold = Fill("2", "b", "SPY", Side.SELL, Decimal(3), Decimal(110), at)
        >>> held = apply_fill(apply_fill(Position("SPY"), bought), sold)
        >>> str(held.units), str(held.average_entry.normalize()), str(held.realised_pnl_ccy)
        ('-1', '1.1E+2', '20')
    """
    if fill.symbol != position.symbol:
        rule = "a fill must be of the position's symbol"
        raise TradingError(rule, was=fill.symbol, where=f"Position {position.symbol}")
    held, sign = abs(position.units), fill.side.sign
    is_against = position.units * sign < 0
    closed = min(held, fill.quantity_units) if is_against else Decimal(0)
    # What the closed units had cost: all of it where all are closed, so that nothing is left over.
    cost = position.cost_ccy
    released = cost if closed == held else divide(multiply(cost, closed), held)
    opened = sign * add(fill.quantity_units, -closed)
    proceeds = multiply(-sign * closed, fill.price)
    return Position(
        symbol=position.symbol,
        units=add(position.units, fill.signed_units),
        cost_ccy=add(cost, -released, multiply(opened, fill.price)),
        realised_pnl_ccy=add(position.realised_pnl_ccy, proceeds, -released, -fill.fee_ccy),
        fees_ccy=add(position.fees_ccy, fill.fee_ccy),
    )


def position_from_fills(symbol: str, fills: Iterable[Fill]) -> Position:
    """Build the position of one symbol from all of its fills; a replayed one counts once.

    Raises:
        TradingError: If a fill is of another symbol, or two with one id say different things.
    """
    seen: dict[str, Fill] = {}
    position = Position(symbol)
    for fill in fills:
        if fill.fill_id in seen:
            require_replay(seen[fill.fill_id], fill)
            continue
        seen[fill.fill_id] = fill
        position = apply_fill(position, fill)
    return position


def require_replay(first: Fill, again: Fill) -> None:
    """Refuse a fill that carries the id of another.

    Raises:
        TradingError: If the two are not the same fill.
    """
    if first != again:
        raise TradingError(
            "a fill_id must name one fill",
            was=f"{again.quantity_units} @ {again.price} after {first.quantity_units} "
            f"@ {first.price}",
            where=f"fill {first.fill_id}",
            remedy="Reconcile with the venue before trading on",
        )
