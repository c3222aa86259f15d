"""Making the books of a session equal to the venue's, from what the venue says when it is asked.

Nothing is guessed: a venue that cannot be asked raises, an order that it does not know is listed
for the caller to ask again, and a position that differs afterwards is told as drift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.runtime.brokers.protocol import Broker, BrokerOrder
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.order_book import BookAlert, OrderBook

_UNANSWERED = (OrderStatus.APPROVED, OrderStatus.SUBMITTED)


@dataclass
class Reconciliation:
    """What was found."""

    alerts: list[tuple[str, BookAlert]] = field(default_factory=list)
    """Client order id, and what was not expected of it."""
    unknown: list[OrderIntent] = field(default_factory=list)
    """Intents that were to be sent and that the venue does not know: asked for a second time and
    unknown still, they are sent again under the same id."""
    lost: list[str] = field(default_factory=list)
    """Ids of orders that the venue took before and does not know now."""
    external: list[BrokerOrder] = field(default_factory=list)
    """Open orders at the venue that are not of this session."""
    drift: dict[str, Decimal] = field(default_factory=dict)
    """Symbol → our units less the venue's, where they differ."""

    @property
    def is_clean(self) -> bool:
        """Whether both books say the same, and every order is accounted for."""
        return not (self.unknown or self.lost or self.external or self.drift)


def reconcile(
    book: OrderBook, holdings: Holdings, broker: Broker, since: datetime
) -> Reconciliation:
    """Fold everything in that the venue has: fills, then orders, then positions.

    Args:
        book: Orders of the session; changed.
        holdings: Positions of the session; changed.
        broker: The venue.
        since: When the session's first order was sent: fills from then on are asked for.

    Raises:
        BrokerUnavailableError: If the venue cannot be asked; what was folded in until then is true.
    """
    found = Reconciliation()
    fills = {fill.fill_id: fill for fill in broker.fills(since)}
    for fill in fills.values():
        found.alerts += [(fill.client_order_id, each) for each in book.book_fill(fill)]
        if fill.fill_id not in book.busted:
            holdings.book(fill)
    for known in list(book.fills.values()):
        if known.filled_at >= since and known.fill_id not in fills:  # taken back by the venue
            found.alerts += [(known.client_order_id, each) for each in book.bust(known)]
    for fill_id in book.busted:
        holdings.bust(fill_id)
    working = list(book.working())
    listed = broker.find_orders([order.client_order_id for order in working])
    for order in working:
        order_id = order.client_order_id
        at_venue = listed.get(order_id)
        if at_venue is not None:
            found.alerts += [(order_id, each) for each in book.adopt(at_venue)]
        elif order.status in _UNANSWERED:
            found.unknown.append(order.intent)
        else:
            found.lost.append(order_id)
    found.external += [
        each for each in broker.open_orders() if each.client_order_id not in book.orders
    ]
    found.drift = holdings.find_drift(broker.positions())
    return found
