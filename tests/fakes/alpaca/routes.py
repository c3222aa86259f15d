"""Alpaca's REST paths over the venue (RELIABILITY §3.1), and the admin paths of the fake."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from fakes.alpaca.faults import FaultPlan
from fakes.alpaca.records import VenueOrder, read_number, read_time, write_number, write_time
from fakes.alpaca.refusals import Refusal
from fakes.alpaca.venue import Venue

Answer = tuple[int, Any]
"""HTTP status and what is written as JSON; None is an empty body."""
Query = dict[str, str]
_DAY = timedelta(days=1)
_DELAY = timedelta(minutes=15)
_CENT = Decimal("0.01")


class Routes:
    """Finds what a request asks for, and asks the venue."""

    def __init__(self, venue: Venue, plan: FaultPlan) -> None:
        self.venue, self.plan = venue, plan
        self._table: list[tuple[str, re.Pattern[str], str, Callable[..., Answer]]] = [
            (method, re.compile(pattern), operation, handle)
            for method, pattern, operation, handle in (
                ("POST", r"/v2/orders", "submit", self._submit),
                ("GET", r"/v2/orders", "orders", self._list_orders),
                ("GET", r"/v2/orders:by_client_order_id", "find", self._find),
                ("GET", r"/v2/orders/([^/]+)", "order", self._order),
                ("PATCH", r"/v2/orders/([^/]+)", "replace", self._replace),
                ("DELETE", r"/v2/orders", "cancel_all", self._cancel_all),
                ("DELETE", r"/v2/orders/([^/]+)", "cancel", self._cancel),
                ("GET", r"/v2/positions", "positions", self._positions),
                ("GET", r"/v2/positions/([^/]+)", "positions", self._position),
                ("DELETE", r"/v2/positions", "close", self._close_all),
                ("DELETE", r"/v2/positions/([^/]+)", "close", self._close),
                ("GET", r"/v2/account", "account", self._account),
                ("GET", r"/v2/account/configurations", "other", self._configuration),
                ("PATCH", r"/v2/account/configurations", "other", self._configure),
                ("GET", r"/v2/account/portfolio/history", "other", self._history),
                ("GET", r"/v2/account/activities(?:/(\w+))?", "activities", self._activities),
                ("GET", r"/v1/corporate-actions", "data", self._corporate_actions),
                ("GET", r"/v2/clock", "clock", self._clock),
                ("GET", r"/v2/calendar", "clock", self._calendar),
                ("GET", r"/v2/assets", "asset", self._assets),
                ("GET", r"/v2/assets/([^/]+)", "asset", self._asset),
                ("GET", r"/v2/stocks/bars", "data", self._bars),
                ("GET", r"/v2/stocks/(bars|quotes|trades)/latest", "data", self._latest),
            )
        ]

    def find(self, method: str, path: str) -> tuple[str, Callable[[Query, Any], Answer]]:
        """Return the operation of a path and what answers it.

        Raises:
            Refusal: 404 for a path that Alpaca does not have.
        """
        for asked, pattern, operation, handle in self._table:
            match = pattern.fullmatch(path) if asked == method else None
            if match is not None:
                groups = tuple(each for each in match.groups() if each is not None)
                return operation, partial(_handle, handle, groups)
        raise Refusal(404, {"message": "endpoint not found."})

    # ---- orders -------------------------------------------------------------------------------

    def _submit(self, query: Query, body: Any) -> Answer:
        if not isinstance(body, dict):
            raise Refusal.of(400, 40010000, "request body format is invalid")
        return 200, self.venue.submit(body)

    def _list_orders(self, query: Query, body: Any) -> Answer:
        status, limit = query.get("status", "open"), int(query.get("limit", "50"))
        if status not in ("open", "closed", "all") or not 1 <= limit <= 500:
            raise Refusal.unprocessable("invalid status or limit")
        found = list(self.venue.orders.values()) if status != "open" else self.venue.open_orders()
        if status == "closed":
            found = [order for order in found if not order.is_open]
        found = [order for order in found if _matches(order, query)]
        is_descending = query.get("direction", "desc") == "desc"
        found.sort(key=lambda order: order.created_at, reverse=is_descending)
        if query.get("nested", "").lower() == "true":
            found = [order for order in found if order.parent_id is None]
            return 200, [self._nested(order) for order in found[:limit]]
        return 200, [order.body() for order in found[:limit]]

    def _nested(self, order: VenueOrder) -> dict[str, Any]:
        return order.body([self.venue.orders[each] for each in order.leg_ids])

    def _find(self, query: Query, body: Any) -> Answer:
        return 200, self.venue.find_by_client_id(query.get("client_order_id", "")).body()

    def _order(self, query: Query, body: Any, order_id: str) -> Answer:
        order = self.venue.find(order_id)
        return 200, self._nested(order) if query.get(
            "nested", ""
        ).lower() == "true" else order.body()

    def _replace(self, query: Query, body: Any, order_id: str) -> Answer:
        return 200, self.venue.replace(self.venue.find(order_id), body or {})

    def _cancel(self, query: Query, body: Any, order_id: str) -> Answer:
        self.venue.cancel(self.venue.find(order_id))
        return 204, None

    def _cancel_all(self, query: Query, body: Any) -> Answer:
        """Cancel each open order on its own: one that fails does not stop the others."""
        parts = []
        for order in self.venue.open_orders():
            if not order.is_open:
                continue  # with another of its group
            if self.plan.draw("cancel") is not None:
                failed = {"code": 50010000, "message": "internal server error occurred"}
                parts.append({"id": order.id, "status": 500, "body": failed})
                continue
            self.venue.cancel(order)
            parts.append({"id": order.id, "status": 200})
        return 207, parts

    # ---- positions ----------------------------------------------------------------------------

    def _positions(self, query: Query, body: Any) -> Answer:
        return 200, [self._position_body(symbol) for symbol in sorted(self.venue.positions)]

    def _position(self, query: Query, body: Any, symbol: str) -> Answer:
        self._require_position(symbol)
        return 200, self._position_body(symbol)

    def _require_position(self, symbol: str) -> Decimal:
        if symbol not in self.venue.positions:
            raise Refusal.not_found("position does not exist")
        return self.venue.positions[symbol]

    def _position_body(self, symbol: str) -> dict[str, Any]:
        units, cost = self.venue.positions[symbol], self.venue.costs[symbol]
        price = self.venue.last_price(symbol)
        gain = units * price - cost
        waiting = (o.remaining for o in self.venue.open_of(symbol) if o.sign * units < 0)
        values = {
            "avg_entry_price": cost / units,
            "qty": units,
            "market_value": units * price,
            "cost_basis": cost,
            "unrealized_pl": gain,
            "unrealized_plpc": gain / abs(cost),
            "unrealized_intraday_pl": gain,
            "unrealized_intraday_plpc": gain / abs(cost),
            "current_price": price,
            "lastday_price": price,
            "change_today": Decimal(0),
            "qty_available": units - (1 if units > 0 else -1) * sum(waiting, Decimal(0)),
        }
        return {
            "asset_id": self.venue.assets[symbol].id,
            "symbol": symbol,
            "exchange": "NASDAQ",
            "asset_class": "us_equity",
            "asset_marginable": True,
            "side": "long" if units > 0 else "short",
            **{name: write_number(value) for name, value in values.items()},
        }

    def _close(self, query: Query, body: Any, symbol: str) -> Answer:
        units = self._require_position(symbol)
        part = read_number(dict(query), "percentage")
        asked = abs(units) * part / 100 if part is not None else read_number(dict(query), "qty")
        return 200, self.venue.submit(
            {
                "symbol": symbol,
                "qty": asked if asked is not None else abs(units),
                "side": "sell" if units > 0 else "buy",
                "type": "market",
                "time_in_force": "day",
            }
        )

    def _close_all(self, query: Query, body: Any) -> Answer:
        if query.get("cancel_orders", "").lower() == "true":
            for order in self.venue.open_orders():
                if order.is_open:
                    self.venue.cancel(order)
        parts = []
        for symbol in list(self.venue.positions):
            try:
                status, made = self._close({}, None, symbol)
            except Refusal as refusal:
                status, made = refusal.status, refusal.body
            parts.append({"symbol": symbol, "status": status, "body": made})
        return 207, parts

    # ---- account ------------------------------------------------------------------------------

    def _account(self, query: Query, body: Any) -> Answer:
        venue = self.venue
        long, short = venue.exposure()
        money = {
            "cash": venue.cash,
            "equity": venue.equity(),
            "last_equity": venue.equity(),
            "portfolio_value": venue.equity(),
            "buying_power": venue.buying_power(),
            "regt_buying_power": venue.buying_power(),
            "non_marginable_buying_power": max(Decimal(0), venue.cash),
            "long_market_value": long,
            "short_market_value": short,
            "initial_margin": (long - short) / 2,
            "maintenance_margin": (long - short) * Decimal("0.3"),
        }
        return 200, {
            "id": venue.activities[0]["account_id"] if venue.activities else venue.new_id(),
            "account_number": venue.options.account_number,
            "status": "ACTIVE",
            "crypto_status": "ACTIVE",
            "currency": "USD",
            "multiplier": str(venue.options.multiplier),
            "shorting_enabled": not venue.configuration["no_shorting"],
            "trading_blocked": venue.is_blocked,
            "transfers_blocked": False,
            "account_blocked": False,
            "trade_suspended_by_user": venue.configuration["suspend_trade"],
            "created_at": write_time(venue.clock.now()),
            **{name: write_number(value) for name, value in money.items()},
        }

    def _configuration(self, query: Query, body: Any) -> Answer:
        return 200, self.venue.configuration

    def _configure(self, query: Query, body: Any) -> Answer:
        self.venue.configuration.update(body or {})
        return 200, self.venue.configuration

    def _history(self, query: Query, body: Any) -> Answer:
        stamp, equity = int(self.venue.clock.now().timestamp()), float(self.venue.equity())
        start = float(self.venue.options.start_cash)
        return 200, {
            "timestamp": [stamp],
            "equity": [equity],
            "profit_loss": [equity - start],
            "profit_loss_pct": [equity / start - 1],
            "base_value": start,
            "timeframe": "1D",
        }

    def _activities(self, query: Query, body: Any, kind: str = "FILL") -> Answer:
        size = int(query.get("page_size", "100"))
        if kind not in ("FILL", "CIL") or not 1 <= size <= 100:
            raise Refusal.unprocessable("invalid activity_type or page_size")
        if kind != "FILL":
            day, paid = query.get("after", "")[:10], self.venue.payments
            return 200, [row for row in paid if row["activity_type"] == kind and row["date"] > day]
        after = read_time(query["after"]) if "after" in query else None
        until = read_time(query["until"]) if "until" in query else None
        rows = self.venue.activities[:]
        if after is not None or until is not None:
            times = [read_time(row["transaction_time"]) for row in rows]
            first = 0 if after is None else bisect_right(times, after)
            rows = rows[first : len(rows) if until is None else bisect_left(times, until)]
        if query.get("direction", "desc") == "desc":
            rows.reverse()
        token = query.get("page_token")
        if token is not None:
            ids = [row["id"] for row in rows]
            rows = rows[ids.index(token) + 1 :] if token in ids else []
        return 200, rows[:size]

    def _corporate_actions(self, query: Query, body: Any) -> Answer:
        symbols, kinds = query["symbols"].split(","), query["types"].split(",")
        found = {
            kind: [
                row
                for row in rows
                if row["symbol"] in symbols and query["start"] <= row["ex_date"] <= query["end"]
            ]
            for kind, rows in self.venue.announcements.items()
            if kind.removesuffix("s") in kinds
        }
        return 200, {"corporate_actions": found, "next_page_token": None}

    # ---- clock, assets, data ------------------------------------------------------------------

    def _clock(self, query: Query, body: Any) -> Answer:
        shown = self.venue.clock.shown()
        opens, closes = self.venue.hours.next_times(shown)
        return 200, {
            "timestamp": write_time(shown),
            "is_open": self.venue.hours.is_open(shown),
            "next_open": write_time(opens),
            "next_close": write_time(closes),
        }

    def _calendar(self, query: Query, body: Any) -> Answer:
        today = self.venue.clock.now().date()
        first = date.fromisoformat(query.get("start", today.isoformat())[:10])
        last = date.fromisoformat(query.get("end", (today + 7 * _DAY).isoformat())[:10])
        return 200, self.venue.hours.days(first, last)

    def _assets(self, query: Query, body: Any) -> Answer:
        wanted = query.get("status")
        assets = self.venue.assets.values()
        return 200, [each.body() for each in assets if wanted in (None, each.status)]

    def _asset(self, query: Query, body: Any, symbol: str) -> Answer:
        asset = self.venue.assets.get(symbol)
        if asset is None:
            raise Refusal.not_found(f"asset not found for {symbol}")
        return 200, asset.body()

    def _bars(self, query: Query, body: Any) -> Answer:
        start, end = (read_time(query[key]) if key in query else None for key in ("start", "end"))
        if end is None or end > self.venue.clock.now() - _DELAY:
            _require_free(query)
        found = [
            (symbol, bar)
            for symbol in sorted(query["symbols"].split(","))
            for bar in self.venue.bars.get(symbol, ())
            if (start is None or read_time(bar["t"]) >= start)
            and (end is None or read_time(bar["t"]) <= end)
        ]
        first = int(query.get("page_token") or 0)
        limit = int(query.get("limit") or 1000)
        page: dict[str, list[Any]] = {}
        for symbol, bar in found[first : first + limit]:
            page.setdefault(symbol, []).append({"n": 1, "vw": bar["c"], **bar})
        token = str(first + limit) if first + limit < len(found) else None
        return 200, {"bars": page, "next_page_token": token}

    def _latest(self, query: Query, body: Any, what: str) -> Answer:
        _require_free(query)
        symbols = query["symbols"].split(",")
        if what == "bars":
            found = {s: {"n": 1, **self.venue.bars[s][-1]} for s in symbols if self.venue.bars[s]}
            return 200, {"bars": found}
        if what == "trades":
            prices = self.venue.last_prices
            found = {s: {"p": float(prices[s]), "s": 100} for s in symbols if s in prices}
            return 200, {"trades": found}
        quotes = self.venue.quotes
        now = self.venue.clock.now()
        found = {s: quotes[s] for s in symbols if s in quotes}
        shown = {
            s: {
                "t": write_time(now - timedelta(seconds=each.age_s)),
                "bp": float(each.bid),
                "ap": float(each.ask),
            }
            for s, each in found.items()
        }
        return 200, {"quotes": shown}


def _require_free(query: Query) -> None:
    """Refuse what a free account does not have: the last minutes of all exchanges together."""
    if query.get("feed", "sip") == "sip":
        raise Refusal(403, {"message": "subscription does not permit querying recent SIP data"})


def _handle(
    handle: Callable[..., Answer], groups: tuple[str, ...], query: Query, body: Any
) -> Answer:
    return handle(query, body, *groups)


def _matches(order: VenueOrder, query: Query) -> bool:
    if "symbols" in query and order.symbol not in query["symbols"].split(","):
        return False
    if "side" in query and order.side != query["side"]:
        return False
    if "after" in query and order.created_at <= read_time(query["after"]):
        return False
    return "until" not in query or order.created_at < read_time(query["until"])
