"""Requests to Alpaca's trading interface through its official client.

The client waits for ever, sends a POST again after a 504, and reports a page of HTML by a
`JSONDecodeError`. So its requests go through a session that bounds their time, sends each once, and
judges the answer: the client sees whole answers only.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import requests

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.replies import Vendor
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.exact_number import plain_text
from tradingbot.domain.order_intent import OrderIntent, OrderType
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.rate_budget import Lane, RateBudget, read_pause_s

with warnings.catch_warnings():  # the client loads a deprecated module
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.trading import enums
    from alpaca.trading import requests as forms
    from alpaca.trading.client import TradingClient

NOT_FOUND = 40410000
_ID_TAKEN = "client_order_id must be unique"
_PAGE_OF_ORDERS, _PAGE_OF_FILLS = 500, 100
_MICROSECOND = timedelta(microseconds=1)
_Body = TypeVar("_Body")


class VenueRefusalError(Exception):
    """The venue said no, definitely."""

    def __init__(self, status: int, code: int | None, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status, self.code, self.message = status, code, message

    @property
    def is_unknown_order(self) -> bool:
        """Whether the venue itself, not something before it, does not know what was asked for."""
        return self.status == 404 and self.code == NOT_FOUND

    @property
    def is_id_taken(self) -> bool:
        """Whether the order was refused because there is one with its id."""
        return self.status == 422 and _ID_TAKEN in self.message


class KeyRefusedError(VenueRefusalError):
    """The key pair is not valid, or not any more."""


class AnswerLostError(Exception):
    """The venue may have done what it was asked, or not: silence, 5xx, broken line, no JSON."""


class TooManyRequestsError(Exception):
    """Nothing was done: the venue, or our own budget, allows no request now."""


class TradingWire:
    """`TradingClient` on a session of ours: each call is one request."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        secrets = (credentials.secret_key, credentials.key_id)
        self._vendor = Vendor("Alpaca", refused_remedy="", request_remedy="", secrets=secrets)
        self._settings = settings
        self._budget = RateBudget(
            settings.requests_per_minute, settings.reserved_for_cancels, clock
        )
        self._session = _JudgingSession(self._vendor, self._budget, settings)
        self._client = TradingClient(
            credentials.key_id,
            credentials.secret_key,
            paper=True,
            raw_data=True,
            url_override=settings.base_url.rstrip("/"),
        )
        # The client has no public way to set these; its own session has no timeout.
        self._client._session.close()
        self._client._session = self._session
        self._client._retry, self._client._retry_codes = 0, []
        self.is_key_refused = False
        """Latched: a key that was refused once is not tried again."""

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def quote(self, words: object) -> str:
        """Return words on one line without secrets."""
        return self._vendor.quote(words)

    def submit(self, intent: OrderIntent) -> dict[str, Any]:
        """Send an order, once; units and price as exact text."""
        fields = order_fields(intent)
        order = self._ask(lambda: self._client.post("/orders", fields), Lane.ORDINARY, dict)
        if order.get("client_order_id") != intent.client_order_id or not order.get("id"):
            raise AnswerLostError("an answer about another order")
        return order

    def cancel(self, venue_order_id: str) -> None:
        """Ask for a cancel."""
        self._send(lambda: self._client.cancel_order_by_id(venue_order_id), Lane.URGENT)

    def cancel_all(self) -> list[dict[str, Any]]:
        """Ask for the cancel of every open order; returns id and HTTP status of each."""
        return self._ask(self._client.cancel_orders, Lane.URGENT, list)

    def find(self, client_order_id: str) -> dict[str, Any]:
        """Look an order up by our id."""
        find = self._client.get_order_by_client_id
        return self._ask(lambda: find(client_order_id), Lane.URGENT, dict)

    def order(self, venue_order_id: str) -> dict[str, Any]:
        """Look an order up by the venue's id."""
        return self._ask(lambda: self._client.get_order_by_id(venue_order_id), Lane.ORDINARY, dict)

    def open_orders(self) -> list[dict[str, Any]]:
        """Return every open order: the newest page, and older ones until no page is full."""
        found: dict[str, dict[str, Any]] = {}
        until = None
        while True:
            wanted = forms.GetOrdersRequest(
                status=enums.QueryOrderStatus.OPEN, limit=_PAGE_OF_ORDERS, until=until
            )
            page = self._orders(wanted, Lane.URGENT)
            fresh = [order for order in page if order.get("id") not in found]
            found.update((order["id"], order) for order in fresh)
            if len(page) < _PAGE_OF_ORDERS or not fresh:
                return list(found.values())
            # It is exclusive, and an order of the same microsecond may be on the next page.
            until = datetime.fromisoformat(page[-1]["submitted_at"]) + _MICROSECOND

    def recent_orders(self) -> list[dict[str, Any]]:
        """Return the last 500 orders, open and closed, newest first."""
        wanted = forms.GetOrdersRequest(status=enums.QueryOrderStatus.ALL, limit=_PAGE_OF_ORDERS)
        return self._orders(wanted, Lane.ORDINARY)

    def _orders(self, wanted: forms.GetOrdersRequest, lane: Lane) -> list[dict[str, Any]]:
        return self._ask(lambda: self._client.get_orders(wanted), lane, list)

    def fills(self, after: str) -> list[dict[str, Any]]:
        """Return executions after a moment (RFC 3339), oldest first, over as many pages as needed.

        The client has no call for them; its public `get` has.
        """
        found: list[dict[str, Any]] = []
        query = {"after": after, "direction": "asc", "page_size": _PAGE_OF_FILLS}
        while True:
            get = partial(self._client.get, "/account/activities/FILL", query)
            page = self._ask(get, Lane.ORDINARY, list)
            found += page
            if len(page) < _PAGE_OF_FILLS:
                return found
            query = {**query, "page_token": page[-1]["id"]}

    def positions(self) -> list[dict[str, Any]]:
        """Return every position."""
        return self._ask(self._client.get_all_positions, Lane.ORDINARY, list)

    def account(self) -> dict[str, Any]:
        """Return the account."""
        return self._ask(self._client.get_account, Lane.ORDINARY, dict)

    def clock(self) -> dict[str, Any]:
        """Return the venue's clock."""
        return self._ask(self._client.get_clock, Lane.ORDINARY, dict)

    def asset(self, symbol: str) -> dict[str, Any]:
        """Return what is allowed with a symbol."""
        return self._ask(lambda: self._client.get_asset(symbol), Lane.ORDINARY, dict)

    def active_assets(self) -> list[dict[str, Any]]:
        """Return what is allowed with every share that is traded; some 12,000 rows."""
        shares, active = enums.AssetClass.US_EQUITY, enums.AssetStatus.ACTIVE
        wanted = forms.GetAssetsRequest(status=active, asset_class=shares)
        return self._ask(lambda: self._client.get_all_assets(wanted), Lane.ORDINARY, list)

    def _ask(self, call: Callable[[], Any], lane: Lane, kind: type[_Body]) -> _Body:
        answer = self._send(call, lane)
        if not isinstance(answer, kind):
            raise AnswerLostError(f"an answer that is no {kind.__name__}")
        return answer

    def _send(self, call: Callable[[], Any], lane: Lane) -> Any:
        if self.is_key_refused:
            raise KeyRefusedError(403, None, "the key pair was refused before")
        if not self._budget.take(lane, self._settings.longest_wait_s):
            raise TooManyRequestsError("our own budget of requests is spent")
        try:
            return call()
        except KeyRefusedError:
            self.is_key_refused = True
            raise


def order_fields(intent: OrderIntent) -> dict[str, Any]:
    """Write an intent as the body of a request: checked by the client, numbers as exact text."""
    fields: dict[str, Any] = {
        "symbol": wire_symbol(intent.symbol),
        "qty": float(intent.quantity_units),
        "side": enums.OrderSide(intent.side.value),
        "time_in_force": enums.TimeInForce(intent.time_in_force.value),
        "client_order_id": intent.client_order_id,
    }
    exact = {"qty": plain_text(intent.quantity_units)}
    if intent.order_type is OrderType.LIMIT:
        assert intent.limit_price is not None
        exact["limit_price"] = plain_text(intent.limit_price)
        request: Any = forms.LimitOrderRequest(**fields, limit_price=float(intent.limit_price))
    else:
        request = forms.MarketOrderRequest(**fields)
    return {**request.to_request_fields(), **exact}


def wire_symbol(symbol: str) -> str:
    """Spell a share class as Alpaca does.

    Example:
        >>> wire_symbol("BRK-B")
        'BRK.B'
    """
    return symbol.replace("-", ".")


class _JudgingSession(requests.Session):
    """Sends each request of the client once, in bounded time, and judges the answer."""

    def __init__(self, vendor: Vendor, budget: RateBudget, settings: AlpacaBrokerSettings) -> None:
        super().__init__()
        self._vendor, self._budget, self._settings = vendor, budget, settings
        self.trust_env = not settings.is_local  # a proxy does not lead to this machine

    def request(self, method: str, url: str, *args: Any, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send a request.

        Raises:
            AnswerLostError: If the venue may have acted without a readable answer.
            TooManyRequestsError: If it says so.
            VenueRefusalError: If it says no.
        """
        options["timeout"] = self._settings.timeout_s
        try:
            reply = super().request(method, url, *args, **options)
        except requests.Timeout as e:
            raise AnswerLostError(f"no answer in {self._settings.timeout_s:g} s") from e
        except requests.RequestException as e:
            raise AnswerLostError("a connection that broke") from e
        status = reply.status_code
        if status == 429:
            asked = reply.headers.get("Retry-After", "")
            self._budget.pause(read_pause_s(asked, self._settings.longest_wait_s))
            raise TooManyRequestsError("HTTP 429")
        if status == 408 or status >= 500:
            raise AnswerLostError(f"HTTP {status}")
        body = self._read(reply)
        if 200 <= status < 300:
            return reply
        code, message = _error_of(body)
        words = self._vendor.quote(message or f"HTTP {status}")
        if status == 401 or (status == 403 and code is None):
            raise KeyRefusedError(status, code, words)
        raise VenueRefusalError(status, code, words)

    def _read(self, reply: requests.Response) -> Any:
        """Return the JSON of a body, with exact numbers, and let the client read the same."""
        if not reply.text and reply.status_code < 300:
            return None
        try:
            body = json.loads(reply.text, parse_float=Decimal)
        except ValueError as e:
            if reply.status_code == 401:
                return None
            # Also a refusal: it may be of something before the venue.
            raise AnswerLostError(f"HTTP {reply.status_code} with a body that is not JSON") from e
        reply.json = lambda **_: body  # type: ignore[method-assign]
        return body


def _error_of(body: Any) -> tuple[int | None, str]:
    if not isinstance(body, dict):
        return None, ""
    code = body.get("code")
    return code if isinstance(code, int) else None, str(body.get("message", ""))
