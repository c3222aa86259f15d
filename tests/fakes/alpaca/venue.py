"""The fake venue: its books, the life of its orders, and its paper fills. It knows no network."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fakes.alpaca.acceptance import check_account, check_prices, read_order_request
from fakes.alpaca.groups import follow_end, follow_fill
from fakes.alpaca.market_hours import AlwaysOpen, Hours, VenueClock
from fakes.alpaca.records import (
    Quote,
    VenueAsset,
    VenueOrder,
    read_number,
    write_number,
    write_time,
)
from fakes.alpaca.refusals import Refusal, duplicate_id
from fakes.alpaca.storage import VenueLog, read_order

START_CASH = Decimal(100_000)
ACCOUNT_NUMBER = "PA3FAKE00001"
_STEP = Decimal("1e-9")


@dataclass(frozen=True, kw_only=True)
class VenueOptions:
    """How the venue behaves when nothing fails."""

    symbols: tuple[str, ...] = ("AAPL", "MSFT", "SPY", "BRK.B")
    fills: Literal["at_quote", "at_next_open", "by_hand"] = "at_quote"
    """`at_quote`: against the last bid and ask; `at_next_open`: by the bars that are fed;
    `by_hand`: by `execute` alone."""
    partial_share: float = 0.0
    """Share of fills that are partial, of random size; Alpaca's paper account has 0.1."""
    seed: int = 0
    start_cash: Decimal = START_CASH
    multiplier: int = 2
    """Buying power over equity."""
    hours: Hours = field(default_factory=AlwaysOpen)
    account_number: str = ACCOUNT_NUMBER


class Venue:
    """One paper account and its market; every change is noted in the log before it is told."""

    def __init__(self, options: VenueOptions, store: Path | None = None) -> None:
        self.options, self.clock, self.log = options, VenueClock(), VenueLog(store)
        self.hours = options.hours
        self.assets = {symbol: VenueAsset(symbol) for symbol in options.symbols}
        self.quotes: dict[str, Quote] = {}
        self.last_prices: dict[str, Decimal] = {}
        self.bars: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.orders: dict[str, VenueOrder] = {}
        self.by_client_id: dict[str, str] = {}
        self._open: dict[str, dict[str, VenueOrder]] = defaultdict(dict)
        self.positions: dict[str, Decimal] = {}
        self.costs: dict[str, Decimal] = {}
        self.cash = options.start_cash
        self.activities: list[dict[str, Any]] = []
        self.payments: list[dict[str, Any]] = []
        """Activities that are no fills."""
        self.announcements: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Corporate actions by their kinds."""
        self.configuration: dict[str, Any] = _CONFIGURATION.copy()
        self.is_blocked = False
        self.late_rejects: set[str] = set()
        """Symbols whose orders are taken and then rejected."""
        self.price_fill: Callable[[VenueOrder, Decimal], Decimal] | None = None
        """Order and quoted price → price of its fill, e.g. a cost model; None: the quoted one."""
        self.listeners: list[Callable[[Callable[[], dict[str, Any]]], None]] = []
        """Each is given what writes an event, and calls it at once or not at all."""
        self._rng = np.random.default_rng(options.seed)
        self._account_id = str(uuid.uuid5(uuid.NAMESPACE_URL, options.account_number))
        self._restore()

    def _restore(self) -> None:
        for kind, value in self.log.read():
            if kind == "order":
                self._keep(read_order(value))
            elif kind == "activity":
                self.activities.append(value)
            elif kind == "payment":
                self.payments.append(value)
            elif kind == "announcement":
                self.announcements[value[0]].append(value[1])
            elif kind == "books":
                self.cash = Decimal(value["cash"])
                for name in ("positions", "costs"):
                    setattr(self, name, {k: Decimal(v) for k, v in value[name].items()})

    # ---- orders -------------------------------------------------------------------------------

    @staticmethod
    def new_id() -> str:
        return str(uuid.uuid4())

    def open_of(self, symbol: str) -> list[VenueOrder]:
        return list(self._open[symbol].values())

    def open_orders(self) -> list[VenueOrder]:
        return [order for kept in self._open.values() for order in kept.values()]

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Take an order or refuse it; return the body of the answer, as of before any fill."""
        order, legs = read_order_request(self, body)
        is_open = self.hours.is_open(order.created_at)
        order.status = "pending_new" if is_open else "accepted"
        if order.time_in_force in ("day", "opg", "cls"):
            order.expires_at = self.hours.close_after(order.created_at)
        for each in (order, *legs):
            each.expires_at = order.expires_at
            self._note(each)
        answer = order.body(legs)
        if order.symbol in self.late_rejects:
            self._end(order, "rejected", "failed_at")
            return answer
        if is_open:
            self._move(order, "new")
        else:
            self._emit("accepted", order)
        if self.options.fills == "at_quote":
            self.match(order.symbol)
        return answer

    def cancel(self, order: VenueOrder) -> None:
        if not order.is_open or order.status == "pending_replace":
            raise Refusal.unprocessable(f"order is not cancelable: it is {order.status}")
        self._end(order, "canceled", "canceled_at")

    def replace(self, order: VenueOrder, body: dict[str, Any]) -> dict[str, Any]:
        """Put a new order in the place of an open one."""
        if not order.is_open:
            raise Refusal.unprocessable(f"order is not replaceable: it is {order.status}")
        client_id = body.get("client_order_id") or self.new_id()
        if client_id in self.by_client_id:
            raise duplicate_id()
        now = self.clock.now()
        changed = VenueOrder(**{**vars(order), "id": self.new_id(), "client_order_id": client_id})
        changed.created_at, changed.replaces = now, order.id
        for name in ("qty", "limit_price", "stop_price"):
            setattr(changed, name, read_number(body, name) or getattr(order, name))
        changed.time_in_force = body.get("time_in_force") or order.time_in_force
        if changed.remaining <= 0:
            raise Refusal.unprocessable("qty must be > filled_qty")
        check_prices(changed)
        check_account(self, changed, replaced=order)
        order.replaced_by = changed.id
        self._end(order, "replaced", "replaced_at")
        changed.status = "partially_filled" if changed.filled_qty else "new"
        self._note(changed)
        self._emit("new", changed)
        answer = changed.body()
        if self.options.fills == "at_quote":
            self.match(order.symbol)
        return answer

    def reject_late(self, order: VenueOrder) -> None:
        self._end(order, "rejected", "failed_at")

    def expire_due(self) -> None:
        """End the orders whose session is over."""
        now = self.clock.now()
        for order in self.open_orders():
            if order.expires_at is not None and order.expires_at <= now:
                self._end(order, "expired", "expired_at")

    def find(self, order_id: str) -> VenueOrder:
        order = self.orders.get(order_id)
        if order is None:
            raise Refusal.not_found(f"order not found for {order_id}")
        return order

    def find_by_client_id(self, client_id: str) -> VenueOrder:
        if client_id not in self.by_client_id:
            raise Refusal.not_found(f"order not found for {client_id}")
        return self.orders[self.by_client_id[client_id]]

    # ---- market -------------------------------------------------------------------------------

    def set_quote(self, symbol: str, bid: Decimal, ask: Decimal, age_s: float = 0.0) -> None:
        """Show a bid and an ask; orders that they make marketable fill."""
        self.quotes[symbol] = Quote(bid, ask, age_s)
        self.last_prices[symbol] = (bid + ask) / 2
        if self.options.fills == "at_quote":
            self.match(symbol)

    def feed_bar(self, symbol: str, bar: dict[str, Any]) -> None:
        """Trade one bar: what waits fills at its open, then limits and stops within its range.

        Args:
            symbol: Of the bar.
            bar: t, o, h, l, c, v as Alpaca writes them, and optionally bid and ask of the open.
        """
        price = {key: Decimal(str(bar[key])) for key in ("o", "h", "l", "c")}
        bid, ask = (Decimal(str(bar.get(side, price["o"]))) for side in ("bid", "ask"))
        self.bars[symbol].append({key: bar.get(key) for key in ("t", "o", "h", "l", "c", "v")})
        self.quotes[symbol], self.last_prices[symbol] = Quote(bid, ask), price["o"]
        if self.options.fills != "by_hand":
            self.match(symbol)
            self._match_range(symbol, price["l"], price["h"])
        self.quotes[symbol] = Quote(price["c"], price["c"])
        self.last_prices[symbol] = price["c"]

    def last_price(self, symbol: str) -> Decimal:
        return self.last_prices.get(symbol, Decimal(0))

    def match(self, symbol: str) -> None:
        """Fill what is marketable against the quote; a part of it by chance."""
        quote = self.quotes.get(symbol)
        if quote is None or self.assets[symbol].halted:
            return
        for order in self.open_of(symbol):
            if order.is_waiting or not order.is_open or not self._trades_now(order):
                continue
            price = quote.ask if order.side == "buy" else quote.bid
            self._trail(order, price)
            if self._is_marketable(order, price):
                self._fill(order, price)
            elif order.time_in_force in ("ioc", "fok"):
                self._end(order, "canceled", "canceled_at")

    def _trades_now(self, order: VenueOrder) -> bool:
        now = self.clock.now()
        return self.hours.is_open(now) or order.extended_hours

    def _is_marketable(self, order: VenueOrder, price: Decimal) -> bool:
        if order.stop_price is not None and not order.is_triggered:
            order.is_triggered = (price - order.stop_price) * order.sign >= 0
            if not order.is_triggered:
                return False
        return order.limit_price is None or (order.limit_price - price) * order.sign >= 0

    def _trail(self, order: VenueOrder, price: Decimal) -> None:
        """Move the stop of a trailing order behind the best price so far."""
        if order.type != "trailing_stop":
            return
        best = min if order.side == "buy" else max
        order.hwm = price if order.hwm is None else best(order.hwm, price)
        gap = order.trail_price or order.hwm * (order.trail_percent or Decimal(0)) / 100
        order.stop_price = order.hwm + order.sign * gap

    def _match_range(self, symbol: str, low: Decimal, high: Decimal) -> None:
        """Fill limits and stops that the bar's range reached after its open."""
        if self.assets[symbol].halted:
            return
        for order in self.open_of(symbol):
            if order.is_waiting or not order.is_open:
                continue  # an order of its group filled, or has not yet
            if order.type == "market" or not self._trades_now(order):
                continue
            if order.stop_price is not None and not order.is_triggered:
                if not low <= order.stop_price <= high:
                    continue
                order.is_triggered = True
                if order.limit_price is None:
                    self._fill(order, order.stop_price)
                    continue
            if order.limit_price is not None and low <= order.limit_price <= high:
                self._fill(order, order.limit_price)

    def _fill(self, order: VenueOrder, price: Decimal) -> None:
        if self.price_fill is not None:
            price = self.price_fill(order, price).quantize(_STEP)
        if order.notional is not None and order.qty is None:
            order.qty = (order.notional / price).quantize(_STEP)
        units = self._part_of(order)
        self.execute(order, units, price)
        if order.is_open and order.time_in_force == "ioc":
            self._end(order, "canceled", "canceled_at")

    def _part_of(self, order: VenueOrder) -> Decimal:
        left = order.remaining
        if order.time_in_force == "fok" or self._rng.random() >= self.options.partial_share:
            return left
        step = Decimal(1) if left == left.to_integral_value() else _STEP
        part = (left * Decimal(str(self._rng.random()))).quantize(step)
        return part if 0 < part < left else left

    def execute(self, order: VenueOrder, units: Decimal, price: Decimal) -> None:
        """Book an execution, whatever the order's state: also too much of it, or too late."""
        now = self.clock.now()
        order.filled_qty += units
        order.filled_value += units * price
        order.updated_at = now
        is_whole = order.qty is None or order.filled_qty >= order.qty
        if is_whole:
            order.status, order.filled_at = "filled", now
        elif order.is_open:
            order.status = "partially_filled"
        self._book(order, units, price)
        self._keep(order)
        self.log.note_order(order)
        kind = "fill" if is_whole else "partial_fill"
        self.activities.append(self._activity(order, units, price, kind))
        self.log.note("activity", self.activities[-1])
        self._emit(
            kind,
            order,
            execution_id=self.new_id(),
            price=write_number(price),
            qty=write_number(units),
            position_qty=write_number(self.positions.get(order.symbol, Decimal(0))),
        )
        follow_fill(self, order)

    def _book(self, order: VenueOrder, units: Decimal, price: Decimal) -> None:
        held = self.positions.get(order.symbol, Decimal(0))
        cost = self.costs.get(order.symbol, Decimal(0))
        moved = order.sign * units
        closed = min(abs(held), units) if held * moved < 0 else Decimal(0)
        cost -= cost * closed / abs(held) if closed else Decimal(0)
        cost += order.sign * (units - closed) * price
        self.positions[order.symbol], self.costs[order.symbol] = held + moved, cost
        if not held + moved:
            del self.positions[order.symbol], self.costs[order.symbol]
        self.cash -= moved * price
        self._note_books()

    def announce(self, kind: str, row: dict[str, Any]) -> None:
        """Announce a corporate action."""
        self.announcements[kind].append(row)
        self.log.note("announcement", [kind, row])

    def pay(self, row: dict[str, Any]) -> None:
        """List a payment to the account; `hold` has booked it."""
        self.payments.append({"id": self.new_id(), "account_id": self._account_id, **row})
        self.log.note("payment", self.payments[-1])

    def hold(self, symbol: str, units: Decimal, cash: Decimal) -> None:
        """Hold other units without a trade, and book what was paid for the rest; costs stay."""
        self.positions[symbol] = units
        self.cash += cash
        if not units:
            del self.positions[symbol], self.costs[symbol]
        self._note_books()

    def restate(self, order: VenueOrder) -> None:
        """Tell that an order has other numbers than were asked for."""
        order.updated_at = self.clock.now()
        self._note(order)
        self._emit("restated", order)

    def _note_books(self) -> None:
        self.log.note(
            "books",
            {
                "cash": str(self.cash),
                "positions": {key: str(each) for key, each in self.positions.items()},
                "costs": {key: str(each) for key, each in self.costs.items()},
            },
        )

    def _activity(
        self, order: VenueOrder, units: Decimal, price: Decimal, kind: str
    ) -> dict[str, Any]:
        now = self.clock.now()
        return {
            "id": f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03d}::{self.new_id()}",
            "account_id": self._account_id,
            "activity_type": "FILL",
            "transaction_time": write_time(now),
            "type": kind,
            "price": write_number(price),
            "qty": write_number(units),
            "side": order.side,
            "symbol": order.symbol,
            "leaves_qty": write_number(order.remaining),
            "order_id": order.id,
            "cum_qty": write_number(order.filled_qty),
            "order_status": order.status,
        }

    # ---- money --------------------------------------------------------------------------------

    def exposure(self) -> tuple[Decimal, Decimal]:
        """Return the value of what is long and of what is short, the latter 0 or below."""
        values = [units * self.last_price(symbol) for symbol, units in self.positions.items()]
        zero = Decimal(0)
        return sum((v for v in values if v > 0), zero), sum((v for v in values if v < 0), zero)

    def equity(self) -> Decimal:
        return self.cash + sum(self.exposure(), Decimal(0))

    def buying_power(self) -> Decimal:
        long, short = self.exposure()
        waiting = (each.reserved_ccy * each.remaining for each in self.open_orders())
        held = long - short + sum(waiting, Decimal(0))
        return max(Decimal(0), self.options.multiplier * self.equity() - held)

    # ---- noting and telling -------------------------------------------------------------------

    def _keep(self, order: VenueOrder) -> None:
        self.orders[order.id] = order
        self.by_client_id[order.client_order_id] = order.id
        if order.is_open:
            self._open[order.symbol][order.id] = order
        else:
            self._open[order.symbol].pop(order.id, None)

    def _note(self, order: VenueOrder) -> None:
        self._keep(order)
        self.log.note_order(order)

    def _move(self, order: VenueOrder, status: str) -> None:
        order.status, order.updated_at = status, self.clock.now()
        self._note(order)
        self._emit(status, order)

    def _end(self, order: VenueOrder, status: str, stamp: str) -> None:
        setattr(order, stamp, self.clock.now())
        self._move(order, status)
        follow_end(self, order)

    def end(self, order: VenueOrder, status: str) -> None:
        """End an order because of another of its group."""
        self._end(order, status, f"{status}_at")

    def wake(self, leg: VenueOrder) -> None:
        """Let an exit work: its entry is filled."""
        leg.is_waiting = False
        if leg.stop_price is None:
            self._move(leg, "new")
        else:
            self._note(leg)

    def _emit(self, event: str, order: VenueOrder, **fill: Any) -> None:
        stamp = write_time(self.clock.now())

        def message() -> dict[str, Any]:
            data = {"event": event, "timestamp": stamp, "order": order.body(), **fill}
            return {"stream": "trade_updates", "data": data}

        for listener in self.listeners:
            listener(message)


_CONFIGURATION = {
    "fractional_trading": True,
    "max_margin_multiplier": "4",
    "no_shorting": False,
    "suspend_trade": False,
    "trade_confirm_email": "all",
    "ptp_no_exception_entry": False,
}
