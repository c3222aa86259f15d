"""How a session reaches Alpaca: key pair and addresses of the environment; live is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials, AlpacaSettings
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings, require_paper_key
from tradingbot.runtime.brokers.alpaca.opening import open_alpaca_broker
from tradingbot.runtime.stock_split import SplitSource

if TYPE_CHECKING:
    from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
    from tradingbot.runtime.brokers.alpaca.last_prices import AlpacaPrices

URL_VARIABLE, DATA_URL_VARIABLE = "APCA_API_BASE_URL", "APCA_API_DATA_URL"
"""Names that Alpaca's own tools read too: addresses of the account and of the bars."""


def require_access(environment: Mapping[str, str]) -> None:
    """Refuse keys and addresses that are not those of a paper account; nothing is sent.

    Raises:
        ConfigError: Naming the variable.
    """
    require_paper_key(AlpacaCredentials.from_environment(environment), broker_settings(environment))
    data_settings(environment)


def broker_settings(environment: Mapping[str, str]) -> AlpacaBrokerSettings:
    """Return where the account is: Alpaca's paper address, or a server on this machine."""
    url, data_url = environment.get(URL_VARIABLE), environment.get(DATA_URL_VARIABLE) or None
    if not url:
        return AlpacaBrokerSettings(data_url=data_url)
    return AlpacaBrokerSettings(base_url=url, data_url=data_url)


def data_settings(environment: Mapping[str, str]) -> AlpacaSettings:
    """Return where bars are asked for: those of one exchange, without a delay."""
    url = environment.get(DATA_URL_VARIABLE)
    return AlpacaSettings(feed="iex", base_url=url) if url else AlpacaSettings(feed="iex")


def open_splits(environment: Mapping[str, str]) -> SplitSource:
    """Return who announces splits to the account."""
    from tradingbot.runtime.brokers.alpaca.announced_splits import AlpacaSplits

    credentials = AlpacaCredentials.from_environment(environment)
    return AlpacaSplits(credentials, broker_settings(environment))


def open_prices(environment: Mapping[str, str]) -> AlpacaPrices:
    """Return who says what symbols trade at now; to be closed."""
    from tradingbot.runtime.brokers.alpaca.last_prices import AlpacaPrices

    credentials = AlpacaCredentials.from_environment(environment)
    return AlpacaPrices(credentials, broker_settings(environment), Clock())


def open_alpaca(symbols: Iterable[str], environment: Mapping[str, str]) -> AlpacaBroker:
    """Return the paper account, to be used as a context manager."""
    return open_alpaca_broker(symbols, broker_settings(environment), environment)
