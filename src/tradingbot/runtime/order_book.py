"""Orders of a session by client order id: a fold of what was sent and of what the venue reports.

Reports may come twice, late, out of order or not at all. The book never goes back: an acceptance
after a fill changes nothing, a fill is booked once by its id, a fill after a cancel is booked and
told. What contradicts the book is kept and told as an alert instead of being refused, because a
fill is a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import add
from tradingbot.domain.order import NEXT_STATUSES, Order, OrderStatus, move_order, record_fill
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.domain.position import Fill, require_replay
from tradingbot.runtime.brokers.protocol import (
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
)
from tradingbot.runtime.stock_split import StockSplit

_S = OrderStatus


class BookAlert(StrEnum):
    """What a report said that was not expected."""

    LATE_FILL = "late_fill"
    """After the order was cancelled or expired: booked."""
    OVERFILL = "overfill"
    """More units than the order asked for: booked; nothing may be opened."""
    EXTERNAL = "external"
    """An order or a fill that is not of this session: booked as found."""
    FILL_AFTER_END = "fill_after_end"
    """Of an order that was denied, rejected or never sent: booked."""
    BUSTED = "busted"
    """A fill was taken back by the venue: reversed."""
    LOOK_UP = "look_up"
    """A report that cannot be read, or that says less than the book knows: ask the venue."""
    RESTATED = "restated"
    """The venue has another quantity than was asked for, e.g. after a split: taken over."""
    REJECTED_AFTER_FILL = "rejected_after_fill"
    """The rest of an order with fills was refused: it counts as cancelled."""


@dataclass
class OrderBook:
    """All orders of a session; changed only by its own methods, which read no clock."""

    orders: dict[str, Order] = field(default_factory=dict)
    """By client order id."""
    fills: dict[str, Fill] = field(default_factory=dict)
    """Every fill by its id, in the order in which it was booked; also those of no order here."""
    busted: set[str] = field(default_factory=set)
    """Ids of fills that the venue took back, booked before or not."""
    _working: dict[str, set[str]] = field(default_factory=dict)
    """Symbol → ids of orders that may still fill, or are about to be sent."""

    def add(self, order: Order) -> None:
        """Take an order in, from the gate or from the journal.

        Raises:
            TradingError: If another order has its id: a decision makes one order.
        """
        if order.client_order_id in self.orders:
            rule = "a client order id must name one order"
            raise TradingError(rule, was="a second one", where=order.client_order_id)
        self._put(order)
        for each in order.fills:
            self.fills[each.fill_id] = each

    def move(
        self, client_order_id: str, status: OrderStatus, *, reason: str | None = None
    ) -> Order:
        """Move an order of ours: denied, approved, submitted, pending cancel, withdrawn.

        Raises:
            TradingError: If that status may not follow.
        """
        moved = move_order(self.orders[client_order_id], status, reason=reason)
        self._put(moved)
        return moved

    def answer(self, client_order_id: str, report: SubmitReport) -> Order:
        """Take the answer to a submit; one that was lost leaves the order submitted."""
        order = self.orders[client_order_id]
        if report.outcome is SubmitOutcome.ACCEPTED:
            order = _advance(order, _S.ACCEPTED, venue_order_id=report.venue_order_id)
        elif report.outcome is SubmitOutcome.REJECTED:
            order = _advance(order, _S.REJECTED, reason=report.reason)
        self._put(order)
        return order

    def apply(self, update: BrokerUpdate) -> tuple[BookAlert, ...]:
        """Take a report of the venue in; one that came before changes nothing.

        Returns:
            What was not expected about it.
        """
        if update.kind is UpdateKind.FILLED:
            assert update.fill is not None
            return self.book_fill(update.fill, venue_order_id=update.venue_order_id)
        if update.kind is UpdateKind.BUSTED:
            assert update.fill is not None
            return self.bust(update.fill)
        order = self.orders.get(update.client_order_id)
        if order is None:
            return (BookAlert.EXTERNAL,)
        if update.kind is UpdateKind.UNKNOWN:
            return (BookAlert.LOOK_UP,)
        alerts: tuple[BookAlert, ...] = ()
        if update.kind is UpdateKind.CANCEL_REFUSED:
            if order.status is _S.PENDING_CANCEL:
                self._put(move_order(order, _S.ACCEPTED))
            return alerts
        status, reason = _STATUS_OF[update.kind], update.reason
        if status.is_final and (update.filled_units or 0) > order.filled_units:
            return (BookAlert.LOOK_UP,)  # a fill is missing: its units still count as open
        if status is _S.REJECTED and order.fills:
            status, alerts = _S.CANCELLED, (BookAlert.REJECTED_AFTER_FILL,)
        if status is _S.REJECTED:
            reason = reason or "the venue gave no reason"
        self._put(_advance(order, status, reason=reason, venue_order_id=update.venue_order_id))
        return alerts

    def book_fill(self, fill: Fill, *, venue_order_id: str | None = None) -> tuple[BookAlert, ...]:
        """Book an execution once, whatever its order says.

        Raises:
            TradingError: If another fill has its id.
        """
        if fill.fill_id in self.busted:
            return ()
        known = self.fills.get(fill.fill_id)
        if known is not None:
            require_replay(known, fill)
            return ()
        self.fills[fill.fill_id] = fill
        order = self.orders.get(fill.client_order_id)
        if order is None or (fill.symbol, fill.side) != (order.intent.symbol, order.intent.side):
            return (BookAlert.EXTERNAL,)
        if order.status is _S.APPROVED:
            order = move_order(order, _S.SUBMITTED)  # by a process that did not live to write it
        if order.status in (_S.INTENDED, _S.DENIED, _S.REJECTED):
            return (BookAlert.FILL_AFTER_END,)
        total = add(order.filled_units, fill.quantity_units)
        if total > order.intent.quantity_units:
            # The order follows what was executed: no rest of it is expected any more.
            grown = replace(order.intent, quantity_units=total)
            fills = (*order.fills, fill)
            self._put(replace(order, intent=grown, fills=fills, status=_S.FILLED))
            return (BookAlert.OVERFILL,)
        is_late = order.status.is_final
        order = record_fill(order, fill)
        self._put(replace(order, venue_order_id=venue_order_id or order.venue_order_id))
        return (BookAlert.LATE_FILL,) if is_late else ()

    def bust(self, fill: Fill) -> tuple[BookAlert, ...]:
        """Take a fill back; one that arrives after its bust is not booked."""
        if fill.fill_id in self.busted:
            return ()
        self.busted.add(fill.fill_id)
        taken = self.fills.pop(fill.fill_id, None)
        order = self.orders.get(fill.client_order_id)
        if taken is not None and order is not None and taken in order.fills:
            left = tuple(each for each in order.fills if each != taken)
            status = order.status
            if status is _S.FILLED:
                status = _S.CANCELLED  # the venue does not work it again
            elif status is _S.PARTIALLY_FILLED and not left:
                status = _S.ACCEPTED
            self._put(replace(order, fills=left, status=status))
        return (BookAlert.BUSTED,)

    def adopt(self, found: BrokerOrder, fills: Iterable[Fill] = ()) -> tuple[BookAlert, ...]:
        """Take over what the venue has of an order, found by its id, with the fills it reports.

        The truth of a lookup wins over reports that were lost. A final status is taken only once
        all of its fills are here; until then the order stays open, and an alert asks for them.
        """
        alerts = [alert for fill in fills for alert in self.book_fill(fill)]
        order = self.orders.get(found.client_order_id)
        if order is None:
            return (*alerts, BookAlert.EXTERNAL)
        wanted = order.intent.quantity_units
        if found.quantity_units != wanted and found.quantity_units >= order.filled_units:
            intent = replace(order.intent, quantity_units=found.quantity_units)
            whole = order.filled_units == found.quantity_units
            order = replace(order, intent=intent, status=_S.FILLED if whole else order.status)
            alerts.append(BookAlert.RESTATED)
        if found.status is None or found.filled_units > order.filled_units:
            self._put(replace(order, venue_order_id=found.venue_order_id))
            return (*alerts, BookAlert.LOOK_UP)
        status = found.status
        if status is _S.REJECTED and order.fills:
            status = _S.CANCELLED
        reason = "rejected, as its lookup says" if status is _S.REJECTED else None
        order = _advance(order, status, reason=reason, venue_order_id=found.venue_order_id)
        self._put(order)
        return tuple(alerts)

    def split(self, split: StockSplit) -> None:
        """Change what may still fill of a symbol; the venue's own numbers follow by `adopt`."""
        for order in list(self.working(split.symbol)):
            intent, left = order.intent, split.units(count_open_units(order))
            if left > 0:
                price = intent.limit_price and split.price(intent.limit_price)
                units = add(order.filled_units, left)
                changed = replace(intent, quantity_units=units, limit_price=price)
                self._put(replace(order, intent=changed))

    def complete(self, client_order_id: str) -> None:
        """Know an order as filled whole, whatever it asked for: the venue had less of it left."""
        order = self.orders.get(client_order_id)
        if order is not None and order.status is _S.PARTIALLY_FILLED:
            intent = replace(order.intent, quantity_units=order.filled_units)
            self._put(replace(order, intent=intent, status=_S.FILLED))

    def working(self, symbol: str | None = None) -> Iterator[Order]:
        """Yield orders that may still fill or are approved and not sent yet, of a symbol or all."""
        books = self._working.values() if symbol is None else [self._working.get(symbol, set())]
        for ids in books:
            yield from (self.orders[each] for each in sorted(ids))

    def list_working(self) -> list[Order]:
        """Return the same of all symbols, in any order: sums are taken for every order judged."""
        return [self.orders[each] for ids in self._working.values() for each in ids]

    def count_unanswered(self, symbol: str) -> int:
        """Count orders of a symbol that were sent and not answered."""
        return sum(1 for order in self.working(symbol) if order.status is _S.SUBMITTED)

    def working_units(self, symbol: str, side: Side) -> Decimal:
        """Return the units of a symbol and side that may still fill, 0 or more."""
        orders = (order for order in self.working(symbol) if order.intent.side is side)
        return add(*(count_open_units(order) for order in orders))

    def _put(self, order: Order) -> None:
        self.orders[order.client_order_id] = order
        ids = self._working.setdefault(order.intent.symbol, set())
        if order.status.is_at_venue or order.status is _S.APPROVED:
            ids.add(order.client_order_id)
        else:
            ids.discard(order.client_order_id)


_STATUS_OF = {
    UpdateKind.ACCEPTED: _S.ACCEPTED,
    UpdateKind.CANCELLED: _S.CANCELLED,
    UpdateKind.EXPIRED: _S.EXPIRED,
    UpdateKind.REJECTED: _S.REJECTED,
}


def count_open_units(order: Order) -> Decimal:
    """Return the units that may still fill, 0 or more; an approved order counts before it is sent.

    Every order counts toward limits from its approval on.
    """
    return add(order.intent.quantity_units, -order.filled_units)


def open_order(intent: OrderIntent) -> Order:
    """Return an intent as an order that the gate has approved."""
    return move_order(Order(intent), _S.APPROVED)


def _advance(
    order: Order,
    status: OrderStatus,
    *,
    reason: str | None = None,
    venue_order_id: str | None = None,
) -> Order:
    """Move an order forward where that may follow; a report that is behind leaves its status."""
    is_behind = status is _S.ACCEPTED and order.status in (_S.PARTIALLY_FILLED, _S.PENDING_CANCEL)
    if is_behind or status in (_S.FILLED, _S.PARTIALLY_FILLED) or status is order.status:
        return replace(order, venue_order_id=venue_order_id or order.venue_order_id)
    if order.status is _S.APPROVED and status is not _S.CANCELLED:
        order = move_order(order, _S.SUBMITTED)  # sent by a process that did not live to write it
    if status not in NEXT_STATUSES[order.status]:
        return order
    return move_order(order, status, reason=reason, venue_order_id=venue_order_id)
