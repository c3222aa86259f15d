"""A trading session: one turn for every bar that closed.

A turn settles what the venue did at the open of the bar, brings the accounts to its close, decides,
puts orders before the gate, writes all of it in one transaction, and only then sends. Killed at any
point, the next process reads the last turn from the journal, decides it again to the same bits, and
asks the venue which of its orders arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

import torch

from tradingbot.domain.errors import BrokerUnavailableError, ModelAnswerError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.position import Fill
from tradingbot.domain.trading_state import TradingState
from tradingbot.market.advance import SentOrder
from tradingbot.market.arriving_bars import ArrivingBars
from tradingbot.market.bars import Bar
from tradingbot.runtime.breaker import mark_equity, permitted_state
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.deciders import open_decider
from tradingbot.runtime.session.decision import Proposal, SessionDecider
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.facts import MarketFacts
from tradingbot.runtime.session.judging import JudgedOrders, find_wanted, judge_orders
from tradingbot.runtime.session.model import DecidingModel, ModelReference
from tradingbot.runtime.session.pending_exits import PendingExits
from tradingbot.runtime.session.price_basis import PriceBasis
from tradingbot.runtime.session.rebasing import rebase_due
from tradingbot.runtime.session.resumption import resume_turn
from tradingbot.runtime.session.settlement import batch_fills, send_nothing
from tradingbot.runtime.session.state_record import state_of
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.turn_events import list_orders, list_turn
from tradingbot.runtime.session.venue import OwnVenue
from tradingbot.runtime.session.venue_facts import ask_venue

NOT_FINITE = "MODEL_NOT_FINITE"
"""Code of the alert where the model answered no number: nothing is sent at that bar."""


class TradingSession:
    """N symbols on one desk: an account for each, or one whose capital a master divides."""

    def __init__(
        self,
        desk: Desk,
        model: DecidingModel,
        source: BarFeed,
        hours: ExchangeHours,
        terms: SessionTerms,
        *,
        shadow: DecidingModel | None = None,
        venue: OwnVenue | None = None,
    ) -> None:
        """Begin before the first bar.

        Args:
            desk: Book, gate, holdings, venue, journal.
            model: What decides.
            source: Bars.
            hours: Of the exchange.
            terms: Rules.
            shadow: Decides beside the model, on the same accounts; no order follows.
            venue: Where the broker lives by the session's bars; None where it has its own market.
        """
        self.desk, self.model, self.source = desk, model, source
        self.hours, self.terms = hours, terms
        desk.day_of = hours.day_of
        self.rates = terms.costs.rates(dtype=torch.float64)
        self._venue, self.symbols = venue, model.symbols
        self.basis = PriceBasis()
        self._begin_streams(shadow)
        self.account: SessionAccount | None = None
        self.sent: SentOrder | None = None
        self.bar: MarketBar | None = None
        self.stand: MarketBar | None = None
        """The bar at whose close the accounts are: the one before while a settlement is open."""
        self.models: Callable[[ModelReference], DecidingModel] | None = None
        """Opens another model, where the session may change to one."""
        self.changes: tuple[ModelReference | None, ModelReference | None] = (None, None)
        """Models that the last turn was decided by, and that the next one will be; None: the first
        one of the session."""
        self.clock: Callable[[], datetime] | None = None
        """Time of day, which a venue with its own market lives by; None: it passes with bars."""
        self.is_killed: Callable[[], bool] = lambda: False
        """Whether a person asked for a kill that is not obeyed yet."""
        self.unbooked: list[Fill] = []
        """Fills, and what undoes busted ones, that the accounts book at the next bar."""
        self.exits = PendingExits()
        self.action: list[float] | None = None
        """N actions of the last turn; None where nothing was decided."""
        self._row: Bar | None = None
        self.since: datetime | None = None
        """Close of the bar before; None once the present one is settled."""

    def resume(self, *, sends: bool = True, now: datetime | None = None) -> bool:
        """Go on from the last turn that the journal holds; see `resume_turn`."""
        return resume_turn(self, sends=sends, now=now)

    def take(self, bar: MarketBar, now: datetime) -> None:
        """Do the turn of a bar.

        Args:
            bar: The next one; or the present one again, where the venue could not be asked.
            now: Time of the session: the close of the bar in a replay.

        Raises:
            BrokerUnavailableError: If the venue cannot be asked. Nothing is sent and nothing is
                lost: the same bar may be taken again.
        """
        rebase_due(self, self._day_of(bar, now))
        if self.bar is None or bar.number != self.bar.number:
            self.since = None if self.bar is None else self.bar.closed_at
            self._row = self.look(bar)
        assert self._row is not None
        if self.account is None:
            if bar.number < self.terms.first_bar:
                return
            self.account = self._open(self._row)
        elif self.since is not None:
            self._settle(bar, self._row, self.since, now)
        self.since, self.stand = None, bar
        if bar.is_last or not self.is_fresh(now):
            self._hold()
            return
        # A venue that lives by the session's bars has no other time than theirs.
        self._decide(bar, now if self._venue is None else bar.closed_at)

    def save(self, *events: Event) -> bool:
        """Write events with the state as it is now; tell whether the journal confirmed them."""
        return self.desk.record(*events, *self._states())

    def keep(self, *events: Event) -> bool:
        """The same; tell whether the journal has them, or will: a buffer holds them."""
        return self.desk.keep(*events, *self._states())

    def _states(self) -> tuple[Event, ...]:
        return () if self.account is None else (state_of(self, self.action),)

    def take_over(self, now: datetime) -> None:
        """Take over what the venue did since the last bar; accounts book it at the next one.

        Raises:
            BrokerUnavailableError: If it cannot be asked.
        """
        if self.account is not None and self.stand is not None:
            rebase_due(self, self._day_of(self.stand, now))
            self.unbooked += self.desk.settle(now, self.stand.closed_at)

    @property
    def trading_state(self) -> TradingState:
        """What the session may do now."""
        gate = self.desk.gate
        assert gate.session_limits is not None
        return permitted_state(gate.breakers, gate.session_limits)

    @property
    def equity_ccy(self) -> float:
        """Of all accounts together, as simulated; 0 before the first turn."""
        return 0.0 if self.account is None else float(self.account.equity.sum())

    def look(self, bar: MarketBar) -> Bar:
        """Take a bar into everything that remembers bars."""
        bar = self.basis.turn(bar, self.source.symbols)
        for decider in (self.decider, self._shadow):
            if decider is not None:
                decider.take(bar)
        places = self.decider.places
        row = self._arriving.take(bar.prices(places), bar.present[places])
        day = self.hours.day_of(bar.closed_at)
        there = row.tradable.numpy()
        self.facts.take(bar.closed_at, day, row.close.numpy(), row.volume.numpy(), there)
        if self._venue is not None:
            self._venue.pass_time(bar.closed_at, self.symbols, row)
        self.bar = bar
        return row

    def stream_again(self) -> None:
        """Take every bar again, in the prices of now."""
        self._begin_streams(None if self._shadow is None else self._shadow.model)
        if self.bar is not None:
            for bar in self.source.known_bars(self.bar.number):
                self._row = self.look(bar)

    def _begin_streams(self, shadow: DecidingModel | None) -> None:
        self.decider = self.decider_of(self.model)
        self._shadow = None if shadow is None else self.decider_of(shadow)
        self.facts = MarketFacts(self.symbols)
        self._arriving = ArrivingBars(len(self.symbols))

    def _day_of(self, bar: MarketBar, now: datetime) -> date:
        """Return the exchange's day at a venue: that of the bar where it lives by bars."""
        return self.hours.day_of(now if self._venue is None else bar.closed_at)

    def decider_of(self, model: DecidingModel) -> SessionDecider:
        """Return a model that has taken no bar yet."""
        return open_decider(model, self.source, self.terms)

    def is_fresh(self, now: datetime) -> bool:
        """Tell whether the last bar is young enough to be traded on."""
        assert self.bar is not None
        return now - self.bar.closed_at <= timedelta(seconds=self.terms.fresh_s)

    def may_send(self, now: datetime) -> bool:
        """Tell whether a turn that began then may go on to send: no kill waits, it is fresh."""
        return not self.is_killed() and self.is_fresh(self.clock_at(now)())

    def clock_at(self, now: datetime) -> Callable[[], datetime]:
        """Return what tells the time while a turn that began then is under way."""
        return (lambda: now) if self.clock is None or self._venue is not None else self.clock

    def moment(self, now: datetime) -> datetime:
        """Return the time at the venue: the close of the last bar where it lives by bars."""
        assert self.bar is not None
        close = self.bar.closed_at
        return close if self._venue is not None else max(self.clock_at(now)(), close)

    def _open(self, row: Bar) -> SessionAccount:
        self._mark(opened := self.decider.open(row, self._arriving.stale_bars))
        return opened

    def _settle(self, bar: MarketBar, row: Bar, since: datetime, now: datetime) -> None:
        """Book what the venue did at the open of the bar, and go to its close."""
        assert self.account is not None
        assert self.sent is not None
        if self._venue is not None:
            opened_at = self.hours.opened_at(bar.closed_at, since)
            lanes = self.decider.lanes(self.account, row, self.sent.order)
            self._venue.fill_orders(opened_at, self.symbols, lanes, row)
        fills = [*self.unbooked, *self.desk.settle(now, since)]
        self.unbooked = []
        batch = batch_fills(fills, self.symbols, row.open)
        self.account = self.decider.settle(self.account, row, self.sent, batch)
        self._mark(self.account)

    def _mark(self, account: SessionAccount) -> None:
        """Tell the breakers what the accounts are worth."""
        assert self.bar is not None
        gate, day = self.desk.gate, self.hours.day_of(self.bar.closed_at)
        gate.breakers = mark_equity(gate.breakers, Decimal(repr(float(account.equity.sum()))), day)

    def _decide(self, bar: MarketBar, now: datetime) -> None:
        assert self.account is not None
        self.desk.recover()
        try:
            proposal = self.decider.decide(self.account)
        except ModelAnswerError as e:
            self.desk.health.problem = str(e)
            self._hold(AlertRaised(now, AlertLevel.CRITICAL, NOT_FINITE, str(e)))
            return
        told = self.desk.health.check(self.model, self.hours.day_of(bar.closed_at), now)
        before = self.action, self.changes, self.basis.sent_is_rebased
        self.action, self.changes = proposal.action.tolist(), (self.changes[1],) * 2
        self.basis.sent_is_rebased = False
        state = state_of(self, self.action)  # of the breakers before this bar's orders
        try:
            judged = self.judge(bar, proposal, now)
        except BrokerUnavailableError:
            self.action, self.changes, self.basis.sent_is_rebased = before
            raise
        decided = list_turn(self.decider, bar, proposal, judged, self._shadow, self.account)
        events = [*told, *decided, *list_orders(judged, now), state]
        if not self.desk.record(*events):
            self.desk.withdraw_unsent(now)
            self.sent = judged.sent._replace(order=torch.zeros_like(judged.sent.order))
            return
        self.sent = judged.sent
        self.desk.send(judged.approvals, now, goes_on=lambda: self.may_send(now))

    def _hold(self, *events: Event) -> None:
        """Send nothing at this bar, and write that."""
        assert self.account is not None
        self.sent, self.action = send_nothing(self.account), None
        self.basis.sent_is_rebased = False
        self.save(*events)

    def judge(self, bar: MarketBar, proposal: Proposal, now: datetime) -> JudgedOrders:
        """Put what is wanted at a bar before the gate."""
        assert self.account is not None
        sent = self.decider.order(self.account, proposal)
        wanted = find_wanted(self.symbols, sent)
        facts = (self.facts, ask_venue(self.desk, self.clock_at(now), wanted))
        made_by, at = (self.model.sha256, self.symbols), bar.closed_at
        return judge_orders(self.desk, made_by, at, self.account, sent, proposal, facts)
