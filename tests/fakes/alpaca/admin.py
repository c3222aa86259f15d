"""Paths of the fake alone, below `/admin/`: feed the market, turn the knobs, look at the books."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from fakes.alpaca.faults import UNKNOWN_STATUS, FaultPlan
from fakes.alpaca.market_hours import AlwaysOpen
from fakes.alpaca.records import VenueAsset, read_time
from fakes.alpaca.splits import announce_split, do_split
from fakes.alpaca.venue import Venue


class Admin:
    """Controls a venue and its faults: `{"command": argument, …}` in the order of the keys.

    quotes {symbol: [bid, ask, seconds old]} · bars {symbol: bar} ·
    time "2026-01-05T14:30:00Z" or null · execute {client_order_id, qty, price} ·
    asset {symbol, field: value} · reject client_order_id ·
    show_status {client_order_id: word} · faults {knob: value} · clock_skew_s · late_rejects
    [symbol] · announce, split {symbol, new, old, ex_date, orders, whole} · shut true · blocked true
    · tick true
    """

    def __init__(self, venue: Venue, plan: FaultPlan) -> None:
        self.venue, self.plan = venue, plan

    def state(self) -> dict[str, Any]:
        """Return the books: what a test compares with."""
        venue = self.venue
        return {
            "orders": [order.body() for order in venue.orders.values()],
            "activities": venue.activities,
            "positions": {symbol: str(units) for symbol, units in venue.positions.items()},
            "cash": str(venue.cash),
            "equity": str(venue.equity()),
            "faults": self.plan.counts,
        }

    def do(self, body: dict[str, Any]) -> dict[str, Any]:
        """Carry out the commands of a body.

        Raises:
            ValueError: For a command that there is not.
        """
        for command, argument in body.items():
            handle = getattr(self, f"_{command}", None)
            if handle is None:
                raise ValueError(f"unknown command {command!r}")
            handle(argument)
        self.venue.log.flush()
        return {"done": list(body)}

    def _quotes(self, quotes: dict[str, list[Any]]) -> None:
        for symbol, (bid, ask, *age_s) in quotes.items():
            self._know(symbol)
            self.venue.set_quote(symbol, Decimal(str(bid)), Decimal(str(ask)), *age_s)

    def _bars(self, bars: dict[str, dict[str, Any]]) -> None:
        for symbol, bar in bars.items():
            self._know(symbol)
            self.venue.feed_bar(symbol, bar)

    def _know(self, symbol: str) -> None:
        self.venue.assets.setdefault(symbol, VenueAsset(symbol))

    def _time(self, text: str | None) -> None:
        self.venue.clock.set_to = None if text is None else read_time(text)
        self.venue.expire_due()

    def _execute(self, what: dict[str, Any]) -> None:
        order = self.venue.find_by_client_id(what["client_order_id"])
        qty, price = (Decimal(str(what[name])) for name in ("qty", "price"))
        self.venue.execute(order, qty, price)

    def _asset(self, what: dict[str, Any]) -> None:
        self._know(what["symbol"])
        for name, value in what.items():
            setattr(self.venue.assets[what["symbol"]], name, value)

    def _reject(self, client_order_id: str) -> None:
        self.venue.reject_late(self.venue.find_by_client_id(client_order_id))

    def _show_status(self, words: dict[str, str | None]) -> None:
        for client_order_id, word in words.items():
            self.venue.find_by_client_id(client_order_id).shown_status = word

    def _faults(self, knobs: dict[str, Any]) -> None:
        self.plan.change(knobs)

    def _clock_skew_s(self, seconds: float) -> None:
        self.venue.clock.skew_s = seconds

    def _late_rejects(self, symbols: list[str]) -> None:
        self.venue.late_rejects = set(symbols)

    def _announce(self, what: dict[str, Any]) -> None:
        announce_split(self.venue, what)

    def _split(self, what: dict[str, Any]) -> None:
        do_split(self.venue, what)

    def _shut(self, is_shut: bool) -> None:
        assert isinstance(self.venue.hours, AlwaysOpen), "the calendar decides: set the time"
        self.venue.hours.is_shut = is_shut

    def _blocked(self, is_blocked: bool) -> None:
        self.venue.is_blocked = is_blocked

    def _tick(self, _: Any) -> None:
        """Look at every open order again, as the next quote would."""
        for symbol in self.venue.assets:
            self.venue.match(symbol)
        self.venue.expire_due()


__all__ = ["UNKNOWN_STATUS", "Admin"]
