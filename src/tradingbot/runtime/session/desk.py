"""The desk of a session: order book, holdings and gate on one side, venue and journal on the other.

Nothing is sent that the journal does not hold, and no fill counts twice: whatever a kill, a lost
answer or a message that comes again leaves behind, the venue is asked and its answer is taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.trading import (
    FillBusted,
    OrderCancelled,
    PositionChange,
    StockSplitApplied,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.domain.quote import Quote
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.brokers.protocol import Broker, SubmitOutcome
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.order_book import BookAlert
from tradingbot.runtime.reconcile import reconcile
from tradingbot.runtime.session.breaker_events import count_events
from tradingbot.runtime.session.desk_events import (
    alert_of_drift,
    alert_of_order,
    answer_of,
    drift_key,
    ending_of,
    list_bookings,
    list_fills,
    reverse_fill,
)
from tradingbot.runtime.session.model_health import ModelHealth
from tradingbot.runtime.stock_split import StockSplit, split_of

_S = OrderStatus


@dataclass
class Desk:
    """Everything of a session that orders pass through."""

    session: str
    journal: SessionJournal
    broker: Broker
    gate: SessionGate
    holdings: Holdings
    prices: Callable[[Sequence[str]], Mapping[str, float]] | None = None
    """What symbols trade at now, at a venue with a market of its own; None: at their last close."""
    quotes: Callable[[Sequence[str]], Mapping[str, Quote]] | None = None
    """What bids and asks stand there now; None: nothing is quoted, as at the built-in broker."""
    health: ModelHealth = field(default_factory=ModelHealth, init=False)
    """Of the model whose orders pass."""
    journal_is_down: bool = field(default=False, init=False)
    """Whether the last thing that had to be written was not."""
    _is_buffered: bool = field(default=False, init=False)
    """Whether it is kept on disk beside the journal."""
    day_of: Callable[[datetime], date] = field(default=datetime.date, init=False)
    """Day of trading that a moment belongs to; a session sets that of its exchange."""
    _told: set[tuple[str, str]] = field(default_factory=set, init=False)
    _begun: _Settlement | None = field(default=None, init=False)
    """A settlement that the venue did not answer to its end."""

    def record(self, *events: Event) -> bool:
        """Write events in one transaction; tell whether the journal confirmed them."""
        if not events:
            return not self.journal_is_down
        try:
            self.journal.record(*events, session=self.session)
        except JournalUnavailableError as e:
            self.journal_is_down, self._is_buffered = True, e.is_buffered
            return False
        self.journal_is_down = False
        return True

    def keep(self, *events: Event) -> bool:
        """Write events; tell whether the journal has them, or will: a buffer holds them."""
        return self.record(*events) or self._is_buffered

    def recover(self) -> None:
        """Ask a journal that was down whether it is back: what it kept is written first."""
        if self.journal_is_down:
            self.journal_is_down = not self.journal.flush()

    def require_journal(self) -> None:
        """Make sure that the journal holds what was recorded last, or that a buffer does.

        Raises:
            JournalUnavailableError: If neither does: what was recorded since it went down is lost.
        """
        if self.journal_is_down and not (self._is_buffered and self.journal.flush()):
            raise JournalUnavailableError(
                "journal must confirm what is recorded",
                was="it did not at the end of the session",
                where=self.session,
                remedy=f"Free its disk or reach it, then: tradingbot paper resume {self.session}",
            )

    def restore(
        self, orders: Iterable[Order], busted: Iterable[str], changes: Iterable[PositionChange]
    ) -> None:
        """Take in what the journal holds of earlier turns; breakers hold it already.

        Args:
            orders: As all of their events leave them.
            busted: Ids of every fill that was taken back: no order has them any more.
            changes: Those that the accounts hold, in order of booking.
        """
        self.gate.book.busted.update(busted)
        for order in orders:
            self.gate.book.add(order)
        for change in changes:
            self._replay(change)

    def rebook(self, changes: Sequence[PositionChange]) -> tuple[Fill, ...]:
        """Book what is journaled, in order of booking, and what the accounts do not hold.

        Returns:
            Fills of our orders and what undoes busted ones, in units after the last split.
        """
        for change in changes:
            self._replay(change)
        return list_bookings(changes, self.gate.book.orders, self.holdings.undone)

    def _replay(self, change: PositionChange) -> None:
        """Take a journaled change into the holdings, and into the book unless it was undone."""
        if isinstance(change, StockSplitApplied):
            self.holdings.split(split_of(change))
        elif isinstance(change, FillBusted):
            self.holdings.bust(change.fill.fill_id)
        else:
            self.holdings.book(change.fill)
            self.gate.book.book_fill(change.fill)

    def count(self, events: Iterable[Event]) -> None:
        """Tell the breakers of what happened to our orders, as the journal holds it in order."""
        count_events(self.gate, self.day_of, events)

    def settle(self, at: datetime, since: datetime) -> tuple[Fill, ...]:
        """Take over what the venue did, and journal it.

        Args:
            at: Now.
            since: Executions from then on are asked for.

        Returns:
            Fills of our orders that were not booked before, in the order of booking; and what
            undoes those that the venue took back.

        Raises:
            BrokerUnavailableError: If the venue cannot be asked; nothing is lost by asking later.
        """
        book = self.gate.book
        if self._begun is None:
            working = sorted(each.client_order_id for each in book.working())
            self._begun = _Settlement(dict(book.fills), working)
        known, open_before, alerts = self._begun.known, self._begun.working, self._begun.alerts
        for update in self.broker.drain_updates():
            told = (each for each in book.apply(update) if each is not BookAlert.LOOK_UP)
            alerts += [(update.client_order_id, each) for each in told]
        # What had to be looked up is, here; an alert that it leaves is for a person.
        found = reconcile(book, self.holdings, self.broker, since)
        self._begun = None
        for intent in found.unknown:  # its bar has passed: it is not sent any more
            is_sent = book.orders[intent.client_order_id].status is _S.SUBMITTED
            book.move(intent.client_order_id, _S.EXPIRED if is_sent else _S.CANCELLED)
        alerts += [*found.alerts, *((each, BookAlert.LOOK_UP) for each in found.lost)]
        alerts += [(each.client_order_id, BookAlert.EXTERNAL) for each in found.external]
        new = tuple(fill for identity, fill in book.fills.items() if identity not in known)
        taken_back = [fill for identity, fill in known.items() if identity not in book.fills]
        ends = [ending_of(book.orders[each], at) for each in open_before]
        fresh = [e for e in alerts if e not in self._told or e[1] is BookAlert.OVERFILL]
        self._told |= set(fresh)
        drifted = [each for each in found.drift.items() if drift_key(each) not in self._told]
        self._told |= {drift_key(each) for each in drifted}
        self._count_and_record(
            *list_fills(new, book.orders),
            *(FillBusted(each, at) for each in taken_back),
            *(each for each in ends if each is not None),
            *(alert_of_order(alert, identity, at) for identity, alert in fresh),
            *(alert_of_drift(symbol, units, at) for symbol, units in drifted),
        )
        undone = self.holdings.undone
        back = (reverse_fill(each, undone.get(each.fill_id, ())) for each in taken_back)
        return tuple(fill for fill in (*new, *back) if fill.client_order_id in book.orders)

    def book(self, fills: Sequence[Fill]) -> list[Fill]:
        """Book and journal fills that the venue made; return those of our orders."""
        for fill in fills:
            self.gate.book.book_fill(fill)
            self.holdings.book(fill)
        self._count_and_record(*list_fills(fills, self.gate.book.orders))
        return [fill for fill in fills if fill.client_order_id in self.gate.book.orders]

    def split(self, split: StockSplit) -> None:
        """Count in units and prices after a split: holdings, open orders, prices of the gate."""
        self.holdings.split(split)
        self.holdings.split_external(split)
        self.gate.split(split)

    def send(
        self,
        approvals: Sequence[Approval],
        at: datetime,
        *,
        again: bool = False,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Send orders that the journal holds, and journal the answers.

        Args:
            approvals: Of the gate of this process.
            at: Now.
            again: After a restart: an order that the venue knows is taken over, not sent.
            goes_on: Asked before each order; from a no on, the rest is withdrawn.

        Raises:
            BrokerUnavailableError: If it is so after a restart and the venue cannot be asked. In a
                turn the order in doubt is looked up at the next one, and the rest is withdrawn.
        """
        answers, is_cut = list[Event](), False
        ids = [each.intent.client_order_id for each in approvals]
        known = self.broker.find_orders(ids) if again else {}
        for found in known.values():
            self.gate.book.adopt(found)
        for identity, approval in zip(ids, approvals, strict=True):
            is_known = identity in known
            if not is_known and not goes_on():
                is_cut = True
                break
            try:
                answer = self._send_one(approval, at, is_known=is_known, again=again)
            except BrokerUnavailableError:
                if again:
                    self._count_and_record(*answers)
                    raise
                is_cut = True
                break
            if answer is not None:
                answers.append(answer)
        self._count_and_record(*answers)
        if is_cut:
            self.withdraw_unsent(at)

    def _send_one(
        self, approval: Approval, at: datetime, *, is_known: bool, again: bool
    ) -> Event | None:
        """Send an order; None where its outcome is not known yet, or it was sent before."""
        identity = approval.intent.client_order_id
        if is_known:
            return answer_of(self.gate.book.orders[identity], at)
        status = self.gate.book.orders[identity].status
        if status is _S.APPROVED:
            self.gate.book.move(identity, _S.SUBMITTED)
        elif not (again and status is _S.SUBMITTED):
            return None
        report = self.broker.submit(approval)
        if report.outcome is SubmitOutcome.UNKNOWN:
            is_known = self._look_up(identity)
            return answer_of(self.gate.book.orders[identity], at) if is_known else None
        return answer_of(self.gate.book.answer(identity, report), at)

    def withdraw_unsent(self, at: datetime) -> None:
        """Take back every approved order that was never sent."""
        waiting = [each for each in self.gate.book.working() if each.status is _S.APPROVED]
        for order in waiting:
            self.gate.book.move(order.client_order_id, _S.CANCELLED)
        ids = ((each.client_order_id, each.intent.symbol) for each in waiting)
        self.record(*(OrderCancelled(*each, at, Decimal(0)) for each in ids))

    def _look_up(self, identity: str) -> bool:
        """Take over what the venue has of an order; tell whether it knows it."""
        found = self.broker.find_order(identity)
        if found is not None:
            self.gate.book.adopt(found)
        return found is not None

    def _count_and_record(self, *events: Event) -> None:
        self.count(events)
        self.record(*events)


@dataclass
class _Settlement:
    """What was known before a settlement began: one that broke off goes on from there."""

    known: dict[str, Fill]
    working: list[str]
    alerts: list[tuple[str, BookAlert]] = field(default_factory=list)
