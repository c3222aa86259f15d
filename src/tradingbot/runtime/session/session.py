"""A trading session: one turn for every bar that closed.

A turn settles what the venue did at the open of the bar, brings the accounts to its close, decides,
puts orders before the gate, writes all of it in one transaction, and only then sends. Killed at any
point, the next process reads the last turn from the journal, decides it again to the same bits, and
asks the venue which of its orders arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import torch

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.domain.order import Order
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.domain.position import Fill
from tradingbot.domain.trading_state import TradingState
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import SentOrder, settle_bar
from tradingbot.market.arriving_bars import ArrivingBars
from tradingbot.market.bars import Bar
from tradingbot.risk.gate import OrderDenial
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import mark_equity, permitted_state, read_breakers
from tradingbot.runtime.session.account_record import read_account
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.decision import Decider, Proposal
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.facts import MarketFacts
from tradingbot.runtime.session.judging import (
    JudgedOrders,
    ask_venue,
    judge_order,
    judge_orders,
)
from tradingbot.runtime.session.model import DecidingModel
from tradingbot.runtime.session.settlement import batch_fills, send_nothing
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.turn_events import list_decisions, list_orders, write_state
from tradingbot.runtime.session.venue import OwnVenue


class TradingSession:
    """N symbols, one account each, on one desk."""

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
        self.desk, self.model, self.source, self.hours, self.terms = (
            *(desk, model, source),
            *(hours, terms),
        )
        rates = terms.costs.rates(dtype=torch.float64)
        self.rates = rates
        self.decider = Decider(model, source, terms.rules, rates)
        self._shadow = None if shadow is None else Decider(shadow, source, terms.rules, rates)
        self._venue = venue
        self.symbols = model.symbols
        self.facts = MarketFacts(self.symbols)
        self._arriving = ArrivingBars(len(self.symbols))
        self.account: Account | None = None
        self.sent: SentOrder | None = None
        self.bar: MarketBar | None = None
        self._unbooked: list[Fill] = []
        self._action: list[float] | None = None

    def resume(self, *, sends: bool = True) -> bool:
        """Go on from the last turn that the journal holds; False where it holds none.

        Bars up to it are streamed again. Orders of that turn are decided again, to the same bits;
        what the venue knows of them is taken over, what it does not know is sent.

        Args:
            sends: Whether it is; else it is left to expire.

        Raises:
            TradingError: If the turn does not come out as it is journaled.
            BrokerUnavailableError: If the venue cannot be asked.
        """
        state = self.desk.journal.state(self.desk.session)
        if state is None:
            return False
        kept = state.account
        last = int(kept["bar"])
        for bar in self.source.bars():
            self.look(bar)
            if bar.number == last:
                break
        if self.bar is None or self.bar.number != last or self.bar.closed_at != state.at:
            rule = "the bars must be those that the session has seen"
            was = "none" if self.bar is None else self.bar.closed_at
            raise TradingError(rule, was=was, where=f"bar {last}, {state.at}")
        self.account = read_account(kept["fields"])
        self.desk.gate.breakers = read_breakers(state.breakers)
        journaled = self.desk.journal.order_book(self.desk.session)
        orders, fills = list(journaled.orders.values()), list(journaled.fills.values())
        n_booked = int(kept["n_fills"])
        turn = [each for each in orders if each.intent.decided_at == state.at]
        self.desk.restore([each for each in orders if each not in turn], fills[:n_booked])
        if kept["action"] is None:
            self.sent = send_nothing(self.account)
        else:
            self._repeat_turn(kept["action"], turn, sends=sends)
        self._unbooked = list(self.desk.rebook(fills[n_booked:]))
        return True

    def take(self, bar: MarketBar, now: datetime) -> None:
        """Do the turn of a bar.

        Args:
            bar: The next one.
            now: Time of the session: the close of the bar in a replay.
        """
        before = self.bar
        row = self.look(bar)
        if self.account is None:
            if bar.number < self.terms.first_bar:
                return
            self.account = self._open(row)
        else:
            assert before is not None
            self._settle(bar, row, before.closed_at, now)
        is_fresh = now - bar.closed_at <= timedelta(seconds=self.terms.fresh_s)
        if bar.is_last or not is_fresh:
            self.sent = send_nothing(self.account)
            self._action = None
            self.save()
            return
        self._decide(bar, now)

    def save(self, *events: Event) -> bool:
        """Write events with the state as it is now; tell whether the journal confirmed them."""
        state = () if self.account is None else (self._state(self._action),)
        return self.desk.record(*events, *state)

    def take_over(self, now: datetime) -> None:
        """Take over what the venue did since the last bar; accounts book it at the next one."""
        assert self.bar is not None
        self._unbooked += self.desk.settle(now, self.bar.closed_at)

    def judge_one(self, intent: OrderIntent, now: datetime) -> Approval | OrderDenial:
        """Put one order that no decision asked for before the gate."""
        assert self.account is not None
        lane = self.symbols.index(intent.symbol)
        facts = (self.facts, ask_venue(self.desk, now))
        return judge_order(self.desk, lane, intent, self.symbols, self.account, facts)

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
        first = self.terms.first_bar
        for decider in (self.decider, self._shadow):
            if decider is not None:
                lookback = decider.model.lookback_bars
                decider.take(bar, is_remembered=bar.number > first - lookback)
        places = self.decider.places
        row = self._arriving.take(bar.prices(places), bar.present[places])
        day = self.hours.day_of(bar.closed_at)
        there = row.tradable.numpy()
        self.facts.take(bar.closed_at, day, row.close.numpy(), row.volume.numpy(), there)
        if self._venue is not None:
            self._venue.pass_time(bar.closed_at, self.symbols, row)
        self.bar = bar
        return row

    def _open(self, row: Bar) -> Account:
        number = torch.zeros(len(self.symbols), dtype=torch.int32)
        cash = self.terms.rules.account.initial_cash_ccy
        opened = open_accounts(cash, number, row.close)
        self._mark(opened)
        return opened._replace(stale_bars=self._arriving.stale_bars)

    def _settle(self, bar: MarketBar, row: Bar, since: datetime, now: datetime) -> None:
        """Book what the venue did at the open of the bar, and go to its close."""
        assert self.account is not None
        assert self.sent is not None
        if self._venue is not None:
            opened_at = self.hours.opened_at(bar.closed_at, since)
            self._venue.fill_orders(opened_at, self.symbols, self.account, row)
        fills = [*self._unbooked, *self.desk.settle(now, since)]
        self._unbooked = []
        batch = batch_fills(fills, self.symbols, row.open)
        rules = self.terms.rules
        done = settle_bar(rules, self.rates, self.account, row, self.sent, batch)
        self.account = done.after
        self._mark(self.account)

    def _mark(self, account: Account) -> None:
        """Tell the breakers what the accounts are worth."""
        assert self.bar is not None
        gate, day = self.desk.gate, self.hours.day_of(self.bar.closed_at)
        gate.breakers = mark_equity(gate.breakers, Decimal(repr(float(account.equity.sum()))), day)

    def _decide(self, bar: MarketBar, now: datetime) -> None:
        assert self.account is not None
        self.desk.recover()
        proposal = self.decider.decide(self.account)
        self._action = proposal.action.tolist()
        state = self._state(self._action)  # of the breakers before this bar's orders
        judged = self._judge(bar, proposal, now)
        events = [*self._decisions(bar, proposal, judged), *list_orders(judged, now), state]
        if not self.desk.record(*events):
            self.desk.withdraw_unsent(now)
            self.sent = judged.sent._replace(order=torch.zeros_like(judged.sent.order))
            return
        self.sent = judged.sent
        self.desk.send(judged.approvals, now)

    def _judge(self, bar: MarketBar, proposal: Proposal, now: datetime) -> JudgedOrders:
        assert self.account is not None
        facts = (self.facts, ask_venue(self.desk, now))
        sent = self.decider.order(self.account, proposal.action)
        model = (self.model.sha256, self.symbols)
        return judge_orders(self.desk, model, bar.closed_at, self.account, sent, proposal, facts)

    def _repeat_turn(self, action: list[float], turn: Sequence[Order], *, sends: bool) -> None:
        """Judge the last turn again, and send what did not arrive."""
        assert self.account is not None
        assert self.bar is not None
        proposal = self.decider.decide(self.account)
        if proposal.action.tolist() != action:
            lanes = np.flatnonzero(proposal.action.numpy() != np.array(action))
            rule = "a decision must come out again as it is journaled"
            names = ", ".join(self.symbols[lane] for lane in lanes[:5])
            remedy = "See which input differs: tradingbot paper replay NAME --verify DAY"
            raise TradingError(rule, was=names, where=str(self.bar.closed_at), remedy=remedy)
        now, book = self.bar.closed_at, self.desk.gate.book
        self._action = action
        judged = self._judge(self.bar, proposal, now)
        self.sent = judged.sent
        for each in turn:  # what is not approved any more may have arrived before
            if each.client_order_id not in book.orders:
                book.add(each)
        known = {each.client_order_id for each in turn}
        fresh = [each for each in judged.approvals if each.intent.client_order_id in known]
        if sends:
            self.desk.send(fresh, now, again=True)

    def _state(self, action: list[float] | None) -> SessionStateSaved:
        assert self.account is not None
        assert self.bar is not None
        return write_state(self.desk, self.bar, self.account, self.trading_state, action)

    def _decisions(self, bar: MarketBar, proposal: Proposal, judged: JudgedOrders) -> list[Event]:
        assert self.account is not None
        made = list_decisions(self.decider, bar, proposal, judged.sent)
        for lane, intent in enumerate(judged.intents):
            if intent is not None:
                made[lane] = replace(made[lane], client_order_id=intent.client_order_id)
        if self._shadow is not None:
            beside = self._shadow.decide(self.account)
            sent = self._shadow.order(self.account, beside.action)
            made += list_decisions(self._shadow, bar, beside, sent, is_shadow=True)
        return list(made)
