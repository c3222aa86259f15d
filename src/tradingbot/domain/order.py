"""An order and its life: which state may follow which, and what a fill does to it.

Five words for five ends: *denied* by our own gate, *rejected* by the venue, *cancelled* by us,
*expired* by time, *filled*. Sent without an answer is a state of its own, SUBMITTED: an order whose
answer was lost is neither rejected nor resent, it is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import add, divide
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Fill, require_replay


class OrderStatus(StrEnum):
    """Where an order is in its life."""

    INTENDED = "intended"
    """Not judged yet."""
    DENIED = "denied"
    """By our risk gate; never sent."""
    APPROVED = "approved"
    """By our risk gate; not sent yet."""
    SUBMITTED = "submitted"
    """Sent; the venue has not answered, or its answer was lost."""
    ACCEPTED = "accepted"
    """Working at the venue."""
    PARTIALLY_FILLED = "partially_filled"
    """Working, with units filled."""
    PENDING_CANCEL = "pending_cancel"
    """A cancel was sent; until it is confirmed, units may still fill."""
    REJECTED = "rejected"
    """By the venue."""
    CANCELLED = "cancelled"
    """By us: confirmed by the venue, or withdrawn before it was sent."""
    EXPIRED = "expired"
    """Its time ran out."""
    FILLED = "filled"
    """Whole."""

    @property
    def is_final(self) -> bool:
        """Whether nothing is expected any more."""
        return not NEXT_STATUSES[self]

    @property
    def is_at_venue(self) -> bool:
        """Whether the venue may hold it: what counts as an open order."""
        return self in _AT_VENUE


_S = OrderStatus
_ENDINGS = frozenset({_S.FILLED, _S.CANCELLED, _S.EXPIRED})
NEXT_STATUSES: dict[OrderStatus, frozenset[OrderStatus]] = {
    _S.INTENDED: frozenset({_S.DENIED, _S.APPROVED}),
    # What was approved and never sent is withdrawn: a kill switch came first, or a restart.
    _S.APPROVED: frozenset({_S.SUBMITTED, _S.CANCELLED}),
    _S.SUBMITTED: _ENDINGS | {_S.ACCEPTED, _S.REJECTED, _S.PARTIALLY_FILLED, _S.PENDING_CANCEL},
    _S.ACCEPTED: _ENDINGS | {_S.PARTIALLY_FILLED, _S.PENDING_CANCEL, _S.REJECTED},
    _S.PARTIALLY_FILLED: _ENDINGS | {_S.PENDING_CANCEL},
    # A cancel that the venue refuses leaves the order working.
    _S.PENDING_CANCEL: _ENDINGS | {_S.ACCEPTED, _S.PARTIALLY_FILLED},
    **dict.fromkeys((_S.DENIED, _S.REJECTED, _S.CANCELLED, _S.EXPIRED, _S.FILLED), frozenset()),
}
"""Status → what may follow. Fills have rules of their own: see `record_fill`."""
_AT_VENUE = frozenset({_S.SUBMITTED, _S.ACCEPTED, _S.PARTIALLY_FILLED, _S.PENDING_CANCEL})
_WITH_REASON = frozenset({_S.DENIED, _S.REJECTED})


@dataclass(frozen=True)
class Order:
    """An intent, how far it came, and what was filled of it.

    Raises:
        TradingError: If status, fills and reason contradict each other.
    """

    intent: OrderIntent
    status: OrderStatus = OrderStatus.INTENDED
    fills: tuple[Fill, ...] = ()
    reason: str | None = None
    """Code of the denial, or the venue's words of a rejection."""
    venue_order_id: str | None = None

    def __post_init__(self) -> None:
        where = f"order {self.client_order_id}"
        filled, wanted = self.filled_units, self.intent.quantity_units
        if filled > wanted:
            rule = "fills must not exceed the order"
            remedy = "Reconcile with the venue before trading on"
            raise TradingError(rule, was=f"{filled} of {wanted}", where=where, remedy=remedy)
        if (self.status is _S.FILLED) != (filled == wanted):
            raise TradingError(
                "an order is filled when all of its units are",
                was=f"{self.status.value} with {filled} of {wanted}",
                where=where,
            )
        if filled and self.status in (_S.INTENDED, _S.DENIED, _S.APPROVED, _S.REJECTED):
            raise TradingError(
                f"an order that is {self.status.value} must have no fill", was=filled, where=where
            )
        if self.status in _WITH_REASON and not (self.reason or "").strip():
            raise TradingError(
                f"an order that is {self.status.value} must say why", was=self.reason, where=where
            )

    @property
    def client_order_id(self) -> str:
        """The id under which it is sent, however often it is sent."""
        return self.intent.client_order_id

    @property
    def filled_units(self) -> Decimal:
        """Units filled so far, 0 or more."""
        return add(*(fill.quantity_units for fill in self.fills))

    @property
    def open_units(self) -> Decimal:
        """Signed units that may still fill; they count toward limits from the moment of sending."""
        if not self.status.is_at_venue:
            return Decimal(0)
        return self.intent.side.sign * add(self.intent.quantity_units, -self.filled_units)

    @property
    def average_price(self) -> Decimal | None:
        """Mean price of the fills by units; None without one."""
        if not self.fills:
            return None
        return divide(add(*(fill.notional_ccy for fill in self.fills)), self.filled_units)


def move_order(
    order: Order,
    status: OrderStatus,
    *,
    reason: str | None = None,
    venue_order_id: str | None = None,
) -> Order:
    """Return an order in its next status.

    Args:
        order: Before.
        status: What follows. What is filled comes by `record_fill`, with the fill.
        reason: Code of a denial or words of a rejection.
        venue_order_id: The venue's id, where it is told; kept from then on.

    Raises:
        TradingError: If that status may not follow, naming those that may.
    """
    if status not in NEXT_STATUSES[order.status]:
        allowed = ", ".join(sorted(NEXT_STATUSES[order.status])) or "none: it is over"
        rule = f"status must be able to follow {order.status.value}"
        where = f"order {order.client_order_id}"
        raise TradingError(rule, was=status.value, where=where, remedy=f"Allowed: {allowed}")
    if status is _S.ACCEPTED and order.fills:
        status = _S.PARTIALLY_FILLED  # a refused cancel leaves what was filled
    return replace(
        order,
        status=status,
        reason=reason or order.reason,
        venue_order_id=venue_order_id or order.venue_order_id,
    )


def record_fill(order: Order, fill: Fill) -> Order:
    """Return an order with one more fill; a fill that it has already changes nothing.

    A fill is a fact: one that arrives after the cancel or the expiry that it crossed is booked too,
    and the order stays cancelled or expired unless all of it is filled.

    Raises:
        TradingError: If the fill is of another order, symbol or side, exceeds the order, carries
            the id of another fill, or the order was never sent.
    """
    for known in order.fills:
        if known.fill_id == fill.fill_id:
            require_replay(known, fill)
            return order
    expected = (order.client_order_id, order.intent.symbol, order.intent.side)
    if (fill.client_order_id, fill.symbol, fill.side) != expected:
        raise TradingError(
            "a fill must be of the order's id, symbol and side",
            was=f"{fill.client_order_id} {fill.symbol} {fill.side.value}",
            where=f"order {' '.join(expected)}",
        )
    if not order.status.is_at_venue and order.status not in (_S.CANCELLED, _S.EXPIRED):
        raise TradingError(
            f"an order that is {order.status.value} must not fill",
            was=f"{fill.quantity_units} @ {fill.price}",
            where=f"order {order.client_order_id}",
            remedy="Reconcile with the venue before trading on",
        )
    fills = (*order.fills, fill)
    is_whole = add(*(each.quantity_units for each in fills)) == order.intent.quantity_units
    working = order.status in (_S.SUBMITTED, _S.ACCEPTED, _S.PARTIALLY_FILLED)
    status = _S.PARTIALLY_FILLED if working else order.status
    return replace(order, fills=fills, status=_S.FILLED if is_whole else status)
