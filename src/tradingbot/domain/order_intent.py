"""A wish to trade, before the risk gate: it may be denied, and becomes an order when approved.

Its client order id is the same for the same decision, in any process and after any restart. A
venue refuses a second order with an id that it has seen, so sending a decision again can never
make a second order.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import plain_text, require_exact
from tradingbot.domain.symbol import require_symbol

MAX_ID_LENGTH = 48
"""Longest id that every supported venue accepts."""
_DIGEST_LENGTH = 24  # 96 bits: a clash among 10⁹ orders is less likely than 10⁻¹¹


def client_order_id(*, decided_at: datetime, symbol: str, model: str, sequence: int) -> str:
    """Name the order of a decision.

    Args:
        decided_at: Close of the bar that was decided on, with its time zone.
        symbol: What is traded.
        model: Version of the model that decided, e.g. the hash of its weights.
        sequence: Number of the order among those of this decision and symbol, from 0: 1 is the
            second leg of a turn, not a second attempt at the first.

    Returns:
        Decision time in UTC and 24 hexadecimal digits, 40 characters.

    Raises:
        TradingError: If the time has no zone, the model has no name, or the number is below 0.

    Example:
        >>> at = datetime(2026, 1, 5, 15, 30, tzinfo=UTC)
        >>> client_order_id(decided_at=at, symbol="SPY", model="5f3a", sequence=0)
        '20260105T153000-f523a88b1a242f33484b8cb9'
    """
    require_symbol(symbol)
    require_zone(decided_at, "decided_at", "client_order_id")
    if not model.strip():
        raise TradingError("model must be named", was=repr(model), where="client_order_id")
    if isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 0:
        raise TradingError("sequence must be 0 or more", was=sequence, where="client_order_id")
    moment = decided_at.astimezone(UTC)
    key = json.dumps([moment.isoformat(timespec="microseconds"), symbol, model, sequence])
    digest = hashlib.sha256(key.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{moment:%Y%m%dT%H%M%S}-{digest}"


def require_zone(moment: datetime, name: str, where: str) -> None:
    """Refuse a time without a zone: it would mean another moment on another machine.

    Raises:
        TradingError: Naming the field.
    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        rule = f"{name} must have a time zone"
        raise TradingError(rule, was=moment, where=where, remedy="Use datetime(…, tzinfo=UTC)")


class Side(StrEnum):
    """Which way units move."""

    BUY = "buy"
    SELL = "sell"

    @property
    def sign(self) -> int:
        """1 for a buy, −1 for a sale."""
        return 1 if self is Side.BUY else -1


class OrderType(StrEnum):
    """At which price an order may fill."""

    MARKET = "market"
    LIMIT = "limit"


class TimeInForce(StrEnum):
    """How long an order works before it expires."""

    DAY = "day"
    GOOD_TILL_CANCELLED = "gtc"
    IMMEDIATE_OR_CANCEL = "ioc"
    FILL_OR_KILL = "fok"


@dataclass(frozen=True)
class OrderIntent:
    """What a decision wants to be traded.

    Raises:
        TradingError: If it cannot be an order: no units, a limit order without a limit …
        DataError: If the symbol is none.
    """

    symbol: str
    side: Side
    quantity_units: Decimal
    """Above 0; the side says which way."""
    decided_at: datetime
    """Close of the bar that was decided on, with its time zone."""
    model: str
    """Version of the model that decided."""
    sequence: int = 0
    """Number among the orders of this decision and symbol."""
    order_type: OrderType = OrderType.MARKET
    limit_price: Decimal | None = None
    """Of a limit order, and of no other."""
    time_in_force: TimeInForce = TimeInForce.DAY
    confidence: float | None = None
    """How sure the decision was, in [0, 1]; None where the model does not say."""

    def __post_init__(self) -> None:
        where = f"OrderIntent {self.symbol}"
        require_symbol(self.symbol, where="OrderIntent")
        require_exact(self.quantity_units, "quantity_units", where, positive=True)
        require_zone(self.decided_at, "decided_at", where)
        if (self.order_type is OrderType.LIMIT) != (self.limit_price is not None):
            raise TradingError(
                "limit_price must be given for a limit order and for no other",
                was=f"{self.order_type.value} order with limit_price {self.limit_price}",
                where=where,
            )
        if self.limit_price is not None:
            require_exact(self.limit_price, "limit_price", where, positive=True)
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise TradingError("confidence must lie in [0, 1]", was=self.confidence, where=where)
        _ = self.client_order_id  # model and sequence are checked there

    @cached_property
    def client_order_id(self) -> str:
        """The id under which the order is sent, however often it is sent."""
        return client_order_id(
            decided_at=self.decided_at, symbol=self.symbol, model=self.model, sequence=self.sequence
        )

    @property
    def signed_units(self) -> Decimal:
        """Units, negative for a sale."""
        return self.side.sign * self.quantity_units

    def reduces(self, held_units: Decimal) -> bool:
        """Tell whether it only makes a position smaller and does not turn it.

        Example:
            >>> from datetime import UTC
            >>> at = datetime(2026, 1, 5, tzinfo=UTC)
            >>> intent = OrderIntent("SPY", Side.SELL, Decimal(5), at, model="5f3a")
            >>> [intent.reduces(Decimal(units)) for units in (5, 4, 0, -5)]
            [True, False, False, False]
        """
        against = self.signed_units * held_units < 0
        return against and self.quantity_units <= abs(held_units)

    @property
    def content_key(self) -> str:
        """What is asked for, as one text.

        A second intent with the same within seconds is probably a duplicate, whatever its id.
        """
        asked = (self.symbol, self.side, plain_text(self.quantity_units), self.order_type)
        limit = () if self.limit_price is None else (plain_text(self.limit_price),)
        return " ".join((*asked, *limit))
