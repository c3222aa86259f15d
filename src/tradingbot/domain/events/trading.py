"""Events of trading: what became of each intent, and whether the session may trade.

Denied (our gate), rejected (the venue), cancelled (us), expired (time) and filled are five kinds.
Times are those of the data or of the venue.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Fill
from tradingbot.domain.trading_state import TradingStateChange


@dataclass(frozen=True)
class OrderDenied(Event):
    """The risk gate denied an intent; it was never sent."""

    intent: OrderIntent
    reason: str
    """Code of the rule with its numbers, e.g. `MAX_POSITION: limit=15000 observed=17250`."""


@dataclass(frozen=True)
class OrderSubmitted(Event):
    """An approved intent was sent; the venue has not answered yet."""

    intent: OrderIntent
    submitted_at: datetime


@dataclass(frozen=True)
class _OrderEvent(Event):
    client_order_id: str
    symbol: str
    at: datetime
    """By the venue's clock."""


@dataclass(frozen=True)
class OrderAccepted(_OrderEvent):
    """The venue works an order."""

    venue_order_id: str


@dataclass(frozen=True)
class OrderRejected(_OrderEvent):
    """The venue refused an order, definitely."""

    reason: str


@dataclass(frozen=True)
class OrderCancelled(_OrderEvent):
    """The venue confirmed a cancel of ours."""

    filled_units: Decimal


@dataclass(frozen=True)
class OrderExpired(_OrderEvent):
    """An order's time ran out."""

    filled_units: Decimal


@dataclass(frozen=True)
class OrderFilled(Event):
    """The venue executed an order or part of it."""

    fill: Fill
    remaining_units: Decimal
    """Of the order; 0 where it is filled whole."""


@dataclass(frozen=True)
class FillBusted(Event):
    """The venue took a fill back: units, cash and profit are as if it had never been."""

    fill: Fill
    at: datetime


@dataclass(frozen=True)
class StockSplitApplied(Event):
    """Units of a symbol changed without a trade: `numerator` new ones for `denominator` old."""

    symbol: str
    numerator: int
    denominator: int
    at: datetime
    """When it took effect: the beginning of its day at the exchange."""
    paid_units: Decimal = Decimal(0)
    """New units, of the sign of the position, that the venue paid for instead of giving them."""
    cash_ccy: Decimal = Decimal(0)
    """What it paid; negative where units that were short are bought."""


PositionChange = OrderFilled | FillBusted | StockSplitApplied
"""What changes the units that are held."""


@dataclass(frozen=True)
class TradingStateChanged(Event):
    """The session may do more or less than before."""

    change: TradingStateChange
    at: datetime
