"""What symbols trade at now, by Alpaca's data interface: market orders are held to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.quote import Quote
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.data_wire import FAILURES, DataWire
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames, moment, number

_Read = TypeVar("_Read")


class AlpacaPrices:
    """Last trades, and quotes, of many symbols; each in one request."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        self._wire = DataWire(credentials, settings, clock)

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def last(self, symbols: Sequence[str]) -> dict[str, float]:
        """Return the price of the last trade of each; left out are those that have none.

        Raises:
            BrokerUnavailableError: If it cannot be told.
        """
        return self._read(self._wire.last_trades, symbols, lambda row: float(number(row["p"])))

    def quotes(self, symbols: Sequence[str]) -> dict[str, Quote]:
        """Return bid and ask of each, and since when; left out are those that have none.

        Raises:
            BrokerUnavailableError: If it cannot be told.
        """
        return self._read(self._wire.last_quotes, symbols, _quote_of)

    def _read(
        self,
        ask: Callable[[Sequence[str]], Mapping[str, Any]],
        symbols: Sequence[str],
        read: Callable[[Any], _Read],
    ) -> dict[str, _Read]:
        names = SymbolNames(symbols)
        rule, remedy = "Alpaca must say what symbols trade at", "Nothing is assumed; look again"
        try:
            return {names.ours(each): read(row) for each, row in ask(symbols).items()}
        except FAILURES as e:
            was = self._wire.quote(e)
        except (KeyError, TypeError, ValueError, ArithmeticError) as e:
            was = f"an answer that cannot be read ({type(e).__name__})"
        raise BrokerUnavailableError(rule, was=was, where=self._wire.place, remedy=remedy)


def _quote_of(row: Any) -> Quote:
    at = moment(row["t"]) if "t" in row else None
    return Quote(float(number(row["bp"])), float(number(row["ap"])), at)
