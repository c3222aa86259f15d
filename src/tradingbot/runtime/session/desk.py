"""The desk of a session: order book, holdings and gate on one side, venue and journal on the other.

Nothing is sent that the journal does not hold, and no fill counts twice: whatever a kill, a lost
answer or a message that comes again leaves behind, the venue is asked and its answer is taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import (
    OrderAccepted,
    OrderCancelled,
    OrderExpired,
    OrderFilled,
    OrderRejected,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import record_answer, record_execution, record_overfill
from tradingbot.runtime.brokers.protocol import Broker, SubmitOutcome
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.order_book import BookAlert

_S = OrderStatus


@dataclass
class Desk:
    """Everything of a session that orders pass through."""

    session: str
    journal: SessionJournal
    broker: Broker
    gate: SessionGate
    holdings: Holdings
    journal_is_down: bool = field(default=False, init=False)
    """Whether the last thing that had to be written was not."""

    def record(self, *events: Event) -> bool:
        """Write events in one transaction; tell whether the journal confirmed them."""
        if not events:
            return not self.journal_is_down
        try:
            self.journal.record(*events, session=self.session)
        except JournalUnavailableError:
            self.journal_is_down = True
            return False
        self.journal_is_down = False
        return True

    def recover(self) -> None:
        """Ask a journal that was down whether it is back: what it kept is written first."""
        if self.journal_is_down:
            self.journal_is_down = not self.journal.flush()

    def restore(self, orders: Iterable[Order], fills: Iterable[Fill]) -> None:
        """Take in what the journal holds of earlier turns; breakers hold it already."""
        for order in orders:
            self.gate.book.add(order)
        for fill in fills:
            self.gate.book.book_fill(fill)
            if fill.client_order_id in self.gate.book.orders:
                self.holdings.book(fill)

    def rebook(self, fills: Sequence[Fill]) -> tuple[Fill, ...]:
        """Book fills that are journaled and that no saved state holds; return those of ours."""
        alerts = [(each, "") for fill in fills for each in self.gate.book.book_fill(fill)]
        self._count(fills, alerts)
        return tuple(fill for fill in fills if fill.client_order_id in self.gate.book.orders)

    def settle(self, at: datetime, since: datetime) -> tuple[Fill, ...]:
        """Take over what the venue did, and journal it.

        Args:
            at: Now.
            since: Executions from then on are asked for.

        Returns:
            Fills that were not booked before, in the order of booking.

        Raises:
            BrokerUnavailableError: If the venue cannot be asked; nothing is lost by asking later.
        """
        book = self.gate.book
        known, open_before = set(book.fills), {each.client_order_id for each in book.working()}
        alerts: list[tuple[BookAlert, str]] = []
        for update in self.broker.drain_updates():
            alerts += [(each, update.client_order_id) for each in book.apply(update)]
        for fill in self.broker.fills(since):
            alerts += [(each, fill.client_order_id) for each in book.book_fill(fill)]
        for identity in sorted(open_before):
            alerts += [(each, identity) for each in self._look_up(identity)]
        new = tuple(fill for identity, fill in book.fills.items() if identity not in known)
        self._count(new, alerts)
        ends = [self._ending(book.orders[each], at) for each in sorted(open_before)]
        self.record(
            *self._fill_events(new),
            *(each for each in ends if each is not None),
            *(_alert(each, identity, at) for each, identity in alerts if each in _ALARMING),
        )
        return tuple(fill for fill in new if fill.client_order_id in book.orders)

    def send(self, approvals: Sequence[Approval], at: datetime, *, again: bool = False) -> None:
        """Send orders that the journal holds, and journal the answers.

        Args:
            approvals: Of the gate of this process.
            at: Now.
            again: After a restart: an order that the venue knows is taken over, not sent.
        """
        answers: list[Event] = []
        for approval in approvals:
            identity = approval.intent.client_order_id
            if again and self._look_up(identity, is_final=False):
                answers.append(_answer_event(self.gate.book.orders[identity], at))
                continue
            order = self.gate.book.orders[identity]
            if order.status is not _S.APPROVED:
                continue
            self.gate.book.move(identity, _S.SUBMITTED)
            report = self.broker.submit(approval)
            if report.outcome is SubmitOutcome.UNKNOWN:
                if self._look_up(identity, is_final=False):
                    answers.append(_answer_event(self.gate.book.orders[identity], at))
                continue
            order = self.gate.book.answer(identity, report)
            is_rejected = report.outcome is SubmitOutcome.REJECTED
            self.gate.breakers = record_answer(self.gate.breakers, rejected=is_rejected)
            answers.append(_answer_event(order, at))
        self.record(*answers)

    def withdraw_unsent(self, at: datetime) -> None:
        """Take back every approved order that was never sent."""
        waiting = [each for each in self.gate.book.working() if each.status is _S.APPROVED]
        for order in waiting:
            self.gate.book.move(order.client_order_id, _S.CANCELLED)
        self.record(
            *(
                OrderCancelled(each.client_order_id, each.intent.symbol, at, Decimal(0))
                for each in waiting
            )
        )

    def cancel_all(self, at: datetime) -> int:
        """Ask the venue to cancel every open order, ours or not; return how many."""
        found = self.broker.open_orders()
        for order in found:
            self.broker.cancel(order.client_order_id)
        self.withdraw_unsent(at)
        return len(found)

    def _look_up(self, identity: str, *, is_final: bool = True) -> tuple[BookAlert, ...]:
        """Take over what the venue has of an order; the word of a lookup wins.

        Args:
            identity: Client order id.
            is_final: Whether an order that the venue does not know counts as expired.

        Returns:
            What was not expected; `LOOK_UP` alone, and only without `is_final`, where it is known.
        """
        book = self.gate.book
        order = book.orders[identity]
        if order.status.is_final:
            return ()
        found = self.broker.find_order(identity)
        if found is not None:
            alerts = book.adopt(found)
            return alerts if is_final else (BookAlert.LOOK_UP, *alerts)
        if is_final and order.status is _S.SUBMITTED:
            book.move(identity, _S.EXPIRED)
        return ()

    def _count(self, new: Sequence[Fill], alerts: Iterable[tuple[BookAlert, str]]) -> None:
        """Book fills of our orders in holdings and breakers; those of others are a drift."""
        gate, limits = self.gate, self.gate.session_limits
        for fill in new:
            order = gate.book.orders.get(fill.client_order_id)
            if order is None:
                continue
            self.holdings.book(fill)
            if limits is not None:
                key = f"{fill.symbol} {fill.side.value}"
                gate.breakers = record_execution(
                    gate.breakers,
                    limits,
                    key,
                    fill.filled_at,
                    is_first=order.fills[:1] == (fill,),
                )
        for alert, _ in alerts:
            if alert is BookAlert.OVERFILL:
                gate.breakers = record_overfill(gate.breakers)

    def _fill_events(self, new: Sequence[Fill]) -> list[Event]:
        events: list[Event] = []
        filled: dict[str, Decimal] = {}
        for fill in new:
            order = self.gate.book.orders.get(fill.client_order_id)
            wanted = fill.quantity_units if order is None else order.intent.quantity_units
            if fill.client_order_id not in filled and order is not None:
                earlier = (each for each in order.fills if each not in new)
                filled[fill.client_order_id] = sum(
                    (each.quantity_units for each in earlier), Decimal(0)
                )
            total = filled.get(fill.client_order_id, Decimal(0)) + fill.quantity_units
            filled[fill.client_order_id] = total
            events.append(OrderFilled(fill, max(wanted - total, Decimal(0))))
        return events

    def _ending(self, order: Order, at: datetime) -> Event | None:
        """Return the event of an order that ended otherwise than filled; None where it did not."""
        who = (order.client_order_id, order.intent.symbol, at)
        if order.status is _S.CANCELLED:
            return OrderCancelled(*who, order.filled_units)
        if order.status is _S.EXPIRED:
            return OrderExpired(*who, order.filled_units)
        if order.status is _S.REJECTED:
            return OrderRejected(*who, order.reason or "the venue gave no reason")
        return None


_ALARMING = frozenset(BookAlert) - {BookAlert.LOOK_UP}


def _alert(alert: BookAlert, identity: str, at: datetime) -> AlertRaised:
    level = AlertLevel.CRITICAL if alert is BookAlert.OVERFILL else AlertLevel.WARNING
    return AlertRaised(at, level, alert.value.upper(), f"order {identity}: {alert.value}")


def _answer_event(order: Order, at: datetime) -> Event:
    who = (order.client_order_id, order.intent.symbol, at)
    if order.status is _S.REJECTED:
        return OrderRejected(*who, order.reason or "the venue gave no reason")
    return OrderAccepted(*who, order.venue_order_id or "")
