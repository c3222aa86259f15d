"""What symbols trade at now, by Alpaca's data interface: market orders are held to it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.rate_budget import Lane
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames, number
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
    wire_symbol,
)

with warnings.catch_warnings():  # the client loads a deprecated module
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.data.enums import DataFeed
    from alpaca.data.historical import StockHistoricalDataClient
    from alpaca.data.requests import StockLatestTradeRequest


class AlpacaPrices(TradingWire):
    """Last trades of many symbols in one request."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        super().__init__(credentials, settings, clock)
        self._place = settings.announcements_url
        self._data = StockHistoricalDataClient(
            credentials.key_id, credentials.secret_key, raw_data=True, url_override=self._place
        )
        self._data._session.close()
        self._data._session = self._session
        self._data._retry, self._data._retry_codes = 0, []

    def last(self, symbols: Sequence[str]) -> dict[str, float]:
        """Return the price of the last trade of each; left out are those that have none.

        Raises:
            BrokerUnavailableError: If it cannot be told.
        """
        names = SymbolNames(symbols)
        theirs = [wire_symbol(each) for each in symbols]
        wanted = StockLatestTradeRequest(symbol_or_symbols=theirs, feed=DataFeed.IEX)
        rule, remedy = "Alpaca must say what symbols trade at", "Nothing is assumed; look again"
        try:
            rows: dict[str, Any] = self._ask(
                lambda: self._data.get_stock_latest_trade(wanted), Lane.ORDINARY, dict
            )
            return {names.ours(each): float(number(row["p"])) for each, row in rows.items()}
        except (AnswerLostError, TooManyRequestsError, VenueRefusalError) as e:
            was = self.quote(e)
        except (KeyError, TypeError, ValueError, ArithmeticError) as e:
            was = f"an answer that cannot be read ({type(e).__name__})"
        raise BrokerUnavailableError(rule, was=was, where=self._place, remedy=remedy)
