"""The gate of a session: the only maker of approvals, without which a broker sends nothing.

It asks the session rules and the rules of an order, the same that the simulator asks (`risk`), with
facts of the order book, of the breakers, of the venue and of the market. Whatever is not known is
denied, and so is an order whose check raises or whose limits are missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tradingbot.domain.denial import SessionDenial
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.risk.gate import OrderDenial, find_denial
from tradingbot.risk.limits import SESSION_RISK, RiskLimits, SessionLimits
from tradingbot.risk.rule import OrderView, SessionFacts
from tradingbot.runtime.approval import Approval, revoke_approvals, seal_intent
from tradingbot.runtime.breaker import (
    BreakerState,
    has_same_content,
    press_kill_switch,
    record_approval,
    record_throttled,
)
from tradingbot.runtime.order_book import OrderBook, count_open_units, open_order
from tradingbot.runtime.order_facts import (
    OrderContext,
    as_number,
    as_scalars,
    facts_of_breakers,
    facts_of_prices,
    facts_of_venue,
    lot_remainder,
    power_left,
)
from tradingbot.runtime.stock_split import StockSplit


@dataclass
class SessionGate:
    """Judges every order of a session, one after the other; each counts once it is approved."""

    book: OrderBook
    breakers: BreakerState = field(default_factory=BreakerState)
    limits: RiskLimits | None = SESSION_RISK
    session_limits: SessionLimits | None = field(default_factory=SessionLimits)
    prices: dict[str, float] = field(default_factory=dict)
    """Client order id → price at which it was judged; the journal gives it back at a restart."""
    _values: dict[str, tuple[Order, float]] = field(default_factory=dict, init=False, repr=False)
    """Client order id → order as it was when its open value was computed: many wait at once."""

    def judge(self, intent: OrderIntent, known: OrderContext) -> Approval | OrderDenial:
        """Approve an intent, or say which rule denies it.

        An approved intent is in the book from then on and counts toward every limit.
        """
        try:
            denial = self._find_denial(intent, known)
        except Exception as error:  # facts that cannot be put together are unknown
            code = SessionDenial.LIMIT_MISSING
            words = f"{code.name}: the facts failed with {type(error).__name__}: {error}"
            return OrderDenial(code, words)
        limits = self.session_limits
        assert limits is not None or denial is not None
        if denial is not None:
            if denial.code is SessionDenial.MESSAGE_RATE and limits is not None:
                self.breakers = record_throttled(self.breakers, limits)
            return denial
        assert limits is not None
        assert known.mark is not None
        value = float(intent.quantity_units) * known.mark
        self.breakers = record_approval(self.breakers, limits, intent, value, known.at)
        self.book.add(open_order(intent))
        self.prices[intent.client_order_id] = known.mark
        return seal_intent(intent)

    def recall(self, order: Order, mark: float) -> None:
        """Know an order again that was judged and answered before a restart.

        It counts as it did; whatever holds now, it is not approved a second time.

        Args:
            order: As the journal has it.
            mark: Price that it was judged at.
        """
        limits, intent = self.session_limits, order.intent
        assert limits is not None
        self.book.add(order)
        self.prices[intent.client_order_id] = mark
        if order.status is not OrderStatus.DENIED:
            if has_same_content(self.breakers, limits, intent.content_key, intent.decided_at):
                return  # the state that was saved counts it already
            value = float(intent.quantity_units) * mark
            self.breakers = record_approval(self.breakers, limits, intent, value, intent.decided_at)
        elif (order.reason or "").startswith(SessionDenial.MESSAGE_RATE.name):
            self.breakers = record_throttled(self.breakers, limits)

    def split(self, split: StockSplit) -> None:
        """Know open orders of a symbol, and prices they were judged at, as after a split."""
        for order in self.book.working(split.symbol):
            if (price := self.prices.get(order.client_order_id)) is not None:
                rebased = price * split.denominator / split.numerator
                self.prices[order.client_order_id] = rebased
                self._values.pop(order.client_order_id, None)
        self.book.split(split)

    def approve_again(self, client_order_id: str) -> Approval:
        """Seal an exit again whose answer was lost; one that was answered is refused."""
        order = self.book.orders[client_order_id]
        if order.status is not OrderStatus.SUBMITTED:
            raise TradingError("an order must lack its answer", was=order.status, where="gate")
        return seal_intent(order.intent)

    def press_kill_switch(self, reason: str) -> None:
        """Halt the session and make every approval void that was not sent yet.

        The caller cancels what works at the venue.
        """
        revoke_approvals()
        self.breakers = press_kill_switch(self.breakers, reason)

    def _find_denial(self, intent: OrderIntent, known: OrderContext) -> OrderDenial | None:
        missing = count_missing(self.limits) + count_missing(self.session_limits)
        if missing or self.limits is None or self.session_limits is None:
            code = SessionDenial.LIMIT_MISSING
            return OrderDenial(code, f"{code.name}: limit=0 observed={missing}")
        facts, cash = self._facts(intent, known, self.session_limits)
        own = self.book.working_units(intent.symbol, intent.side)
        units = as_number(known.held_units) + intent.side.sign * float(own)
        order, mark = float(intent.signed_units), as_number(known.mark)
        rest = (as_number(known.equity_ccy), as_number(known.stale_bars), 0.0)
        view = OrderView._make(
            (*as_scalars((order, units, mark, cash, *rest)), SessionFacts(**facts))
        )
        return find_denial(self.limits, self.session_limits, view)

    def _facts(
        self, intent: OrderIntent, known: OrderContext, limits: SessionLimits
    ) -> tuple[dict[str, Any], float]:
        """Return every fact by its name, and the cash that open buys leave."""
        working = [(order, self._open_value(order)) for order in self.book.list_working()]
        waiting = math.fsum([value for _, value in working])
        buys = math.fsum([value for each, value in working if each.intent.side is Side.BUY])
        is_sent = intent.client_order_id in self.book.orders
        state, at = self.breakers, known.at
        other = Side.SELL if intent.side is Side.BUY else Side.BUY
        gross, net = self._exposure(intent, known, working)
        numbers: dict[str, object] = {
            **facts_of_venue(known),
            **facts_of_prices(intent, known),
            **facts_of_breakers(state, limits, at),
            "trades_today": state.trades + [order.fills for order, _ in working].count(()),
            "order_is_duplicate": is_sent
            or has_same_content(state, limits, intent.content_key, at),
            "open_order_value_ccy": waiting,
            "missing_limits": 0.0,
            "symbol_is_restricted": intent.symbol in limits.restricted_symbols,
            "unanswered_orders": self.book.count_unanswered(intent.symbol),
            "opposite_open_units": self.book.working_units(intent.symbol, other),
            "quantity_remainder_units": lot_remainder(intent, known.asset),
            "confidence": intent.confidence,
            "gross_exposure_ccy": gross,
            "net_exposure_ccy": net,
            "buying_power_ccy": power_left(known, working),
        }
        names = SessionFacts._fields
        facts = dict(
            zip(names, as_scalars(as_number(numbers[each]) for each in names), strict=True)
        )
        return facts, as_number(known.cash_ccy) - buys

    def _open_value(self, order: Order) -> float:
        kept = self._values.get(order.client_order_id)
        if kept is None or kept[0] is not order:
            kept = self._values[order.client_order_id] = order, self._value_of(order)
        return kept[1]

    def _value_of(self, order: Order) -> float:
        price = self.prices.get(order.client_order_id)
        if price is None:  # adopted, or from the journal: its own limit, else unknown
            price = as_number(order.intent.limit_price)
        return float(count_open_units(order)) * price

    def _exposure(
        self, intent: OrderIntent, known: OrderContext, working: list[tuple[Order, float]]
    ) -> tuple[float, float]:
        """Return gross and net value with every open order and this one filled, at the worst."""
        if known.held_values_ccy is None:
            return math.nan, math.nan
        value = float(intent.quantity_units) * as_number(known.mark)
        bought: dict[str, float] = {}
        sold: dict[str, float] = {}
        for order, each in working:
            asked = order.intent
            into = bought if asked.side is Side.BUY else sold
            into[asked.symbol] = into.get(asked.symbol, 0.0) + each
        into = bought if intent.side is Side.BUY else sold
        into[intent.symbol] = into.get(intent.symbol, 0.0) + value
        held = known.held_values_ccy
        touched = {*bought, *sold}
        gross = math.fsum([abs(each) for symbol, each in held.items() if symbol not in touched])
        for symbol in touched:
            now = held.get(symbol, 0.0)
            most = now + bought.get(symbol, 0.0)
            least = now - sold.get(symbol, 0.0)
            gross += max(abs(most), abs(least))
        net = math.fsum(held.values()) + math.fsum(bought.values()) - math.fsum(sold.values())
        return gross, net


def count_missing(limits: RiskLimits | SessionLimits | None) -> int:
    """Count limits that are not there or are no number."""
    if limits is None:
        return 1
    return sum(1 for value in vars(limits).values() if value is None or value != value)
