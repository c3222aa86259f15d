"""Requests to Alpaca's data interface through its official client, judged as those of trading."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any, Protocol, TypeVar

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.rate_budget import Lane
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
    wire_symbol,
)

with warnings.catch_warnings():  # the client loads a deprecated module
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.common.rest import RESTClient
    from alpaca.data.enums import CorporateActionsType, DataFeed
    from alpaca.data.historical import StockHistoricalDataClient
    from alpaca.data.historical.corporate_actions import CorporateActionsClient
    from alpaca.data.requests import (
        CorporateActionsRequest,
        StockLatestQuoteRequest,
        StockLatestTradeRequest,
    )

FAILURES = (AnswerLostError, TooManyRequestsError, VenueRefusalError)
_CASH_IN_LIEU = "CIL"
"""Kind of the activities by which Alpaca pays for fractions."""
_Client = TypeVar("_Client", bound=RESTClient, covariant=True)


class _ClientKind(Protocol[_Client]):
    """A client of the data interface, by its class."""

    def __call__(
        self, api_key: str, secret_key: str, *, raw_data: bool, url_override: str
    ) -> _Client: ...


class DataWire(TradingWire):
    """Announcements, trades and quotes; and payments of the account."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        super().__init__(credentials, settings, clock)
        self.place = settings.announcements_url
        """Where it asks."""
        self._keys = (credentials.key_id, credentials.secret_key)
        self._actions = self._open(CorporateActionsClient)
        self._stocks = self._open(StockHistoricalDataClient)

    def splits(
        self, symbols: Sequence[str], kinds: Sequence[str], first: date, last: date
    ) -> dict[str, Any]:
        """Return announcements by their kinds, over as many pages as needed."""
        wanted = CorporateActionsRequest(
            symbols=[wire_symbol(each) for each in symbols],
            types=[CorporateActionsType(each) for each in kinds],
            start=first,
            end=last,
        )
        return self._ask(lambda: self._actions.get_corporate_actions(wanted), Lane.ORDINARY, dict)

    def payments(self, after: date) -> list[dict[str, Any]]:
        """Return what was paid for fractions after a day."""
        query = {"after": after.isoformat(), "direction": "asc", "page_size": 100}
        get = partial(self._client.get, f"/account/activities/{_CASH_IN_LIEU}", query)
        return self._ask(get, Lane.ORDINARY, list)

    def last_trades(self, symbols: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the last trade of each symbol of one exchange, by the venue's names."""
        theirs = [wire_symbol(each) for each in symbols]
        wanted = StockLatestTradeRequest(symbol_or_symbols=theirs, feed=DataFeed.IEX)
        return self._ask(lambda: self._stocks.get_stock_latest_trade(wanted), Lane.ORDINARY, dict)

    def last_quotes(self, symbols: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the last quote of each symbol of one exchange, by the venue's names."""
        theirs = [wire_symbol(each) for each in symbols]
        wanted = StockLatestQuoteRequest(symbol_or_symbols=theirs, feed=DataFeed.IEX)
        return self._ask(lambda: self._stocks.get_stock_latest_quote(wanted), Lane.ORDINARY, dict)

    def _open(self, kind: _ClientKind[_Client]) -> _Client:
        """Return a client on the session that bounds time and sends each request once."""
        client = kind(*self._keys, raw_data=True, url_override=self.place)
        client._session.close()
        client._session = self._session
        client._retry, client._retry_codes = 0, []
        return client
