"""What the fake venue keeps: orders, assets, quotes, and how it writes them on the wire."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from fakes.alpaca.refusals import Refusal

OPEN_STATUSES = frozenset(
    {"new", "partially_filled", "accepted", "pending_new", "accepted_for_bidding"}
    | {"pending_cancel", "pending_replace", "held", "stopped", "suspended", "calculated"}
    | {"done_for_day", "pending_review"}
)
FINAL_STATUSES = frozenset({"filled", "canceled", "expired", "replaced", "rejected"})
_FINEST = 9  # decimals of a quantity or a price
_TIMES = ("filled_at", "expired_at", "expires_at", "canceled_at", "failed_at", "replaced_at")
_PRICES = ("limit_price", "stop_price", "trail_percent", "trail_price", "hwm")


def write_time(at: datetime | None) -> str | None:
    """Write a moment as Alpaca does, with nanoseconds."""
    return None if at is None else f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}500Z"


def read_time(text: str) -> datetime:
    """Read RFC 3339; a moment without a zone is in UTC."""
    at = datetime.fromisoformat(text.replace(" ", "+"))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def write_number(number: Decimal | None) -> str | None:
    """Write a decimal as text without exponent and trailing zeros."""
    if number is None:
        return None
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_number(body: dict[str, Any], name: str) -> Decimal | None:
    """Read a number or a text of one; refuse what is neither, or has more than nine decimals."""
    value = body.get(name)
    if value is None or value == "":
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise Refusal.invalid(f"{name} must be a number") from None
    if not number.is_finite():
        raise Refusal.invalid(f"{name} must be a number")
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    if -exponent > _FINEST:
        raise Refusal.invalid(f"{name} can have at most {_FINEST} decimals")
    return number


@dataclass
class VenueAsset:
    symbol: str
    tradable: bool = True
    shortable: bool = True
    easy_to_borrow: bool = True
    fractionable: bool = True
    halted: bool = False
    """A pause of the exchange: orders are taken and wait."""
    status: str = "active"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def body(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "class": "us_equity",
            "exchange": "NASDAQ",
            "symbol": self.symbol,
            "name": f"{self.symbol} Common Stock",
            "status": self.status,
            "tradable": self.tradable,
            "marginable": True,
            "maintenance_margin_requirement": 30,
            "shortable": self.shortable,
            "easy_to_borrow": self.easy_to_borrow,
            "fractionable": self.fractionable,
            "attributes": [],
        }


@dataclass(frozen=True)
class Quote:
    bid: Decimal
    ask: Decimal
    age_s: float = 0.0
    """How old it says that it is, whenever it is asked for."""


@dataclass
class VenueOrder:
    """An order as the venue has it; money and units exact."""

    id: str
    client_order_id: str
    asset_id: str
    symbol: str
    side: str
    type: str
    time_in_force: str
    created_at: datetime
    qty: Decimal | None = None
    notional: Decimal | None = None
    limit_price: Decimal | None = None
    stop_price: Decimal | None = None
    trail_percent: Decimal | None = None
    trail_price: Decimal | None = None
    hwm: Decimal | None = None
    extended_hours: bool = False
    status: str = "pending_new"
    filled_qty: Decimal = Decimal(0)
    filled_value: Decimal = Decimal(0)
    updated_at: datetime | None = None
    filled_at: datetime | None = None
    expires_at: datetime | None = None
    expired_at: datetime | None = None
    canceled_at: datetime | None = None
    failed_at: datetime | None = None
    replaced_at: datetime | None = None
    replaced_by: str | None = None
    replaces: str | None = None
    order_class: str = ""
    parent_id: str | None = None
    leg_ids: list[str] = field(default_factory=list)
    is_waiting: bool = False
    """Whether it waits for the first order of its group."""
    is_triggered: bool = False
    """Whether the stop price was reached."""
    reserved_ccy: Decimal = Decimal(0)
    """Buying power per unit still open that the order holds back."""
    shown_status: str | None = None
    """What is written instead of the status: a word that no client knows."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN_STATUSES

    @property
    def sign(self) -> int:
        return 1 if self.side == "buy" else -1

    @property
    def remaining(self) -> Decimal:
        """Units that may still fill; a notional order has none until it is priced."""
        return max(Decimal(0), (self.qty or Decimal(0)) - self.filled_qty)

    @property
    def average_price(self) -> Decimal | None:
        if not self.filled_qty:
            return None
        return round(self.filled_value / self.filled_qty, _FINEST)

    def body(self, legs: list[VenueOrder] | None = None) -> dict[str, Any]:
        """Write it as `GET /v2/orders/{id}` does, with its legs where they are asked for."""
        made = write_time(self.created_at)
        return {
            "id": self.id,
            "client_order_id": self.client_order_id,
            "created_at": made,
            "updated_at": write_time(self.updated_at or self.created_at),
            "submitted_at": made,
            **{name: write_time(getattr(self, name)) for name in _TIMES},
            "replaced_by": self.replaced_by,
            "replaces": self.replaces,
            "asset_id": self.asset_id,
            "symbol": self.symbol,
            "asset_class": "us_equity",
            "notional": write_number(self.notional),
            "qty": None if self.notional is not None else write_number(self.qty),
            "filled_qty": write_number(self.filled_qty),
            "filled_avg_price": write_number(self.average_price),
            "order_class": self.order_class,
            "order_type": self.type,
            "type": self.type,
            "side": self.side,
            "time_in_force": self.time_in_force,
            **{name: write_number(getattr(self, name)) for name in _PRICES},
            "status": self.shown_status or self.status,
            "extended_hours": self.extended_hours,
            "legs": [leg.body() for leg in legs] if legs else None,
            "position_intent": None,
            "source": "access_key",
            "subtag": None,
        }
