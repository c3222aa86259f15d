"""One execution of an order or of part of it: a fact that never changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.client_order_id import require_zone
from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import multiply, require_exact
from tradingbot.domain.order_intent import Side
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
