"""Opening Alpaca's paper account with the key pair of the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import MissingExtraError
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings

if TYPE_CHECKING:
    from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker


def open_alpaca_broker(
    symbols: Iterable[str] = (),
    settings: AlpacaBrokerSettings = AlpacaBrokerSettings(),  # noqa: B008 - frozen
    environment: Mapping[str, str] = os.environ,
    clock: Clock = Clock(),  # noqa: B008 - frozen
) -> AlpacaBroker:
    """Return the broker, to be used as a context manager; nothing is sent yet.

    Args:
        symbols: As we spell them.
        settings: Where and how Alpaca is asked.
        environment: Holds APCA_API_KEY_ID and APCA_API_SECRET_KEY.
        clock: Time; of a replay, the time that is replayed.

    Raises:
        ConfigError: If a variable is not set, or its key is of a live account.
        MissingExtraError: If alpaca-py is not installed.
    """
    credentials = AlpacaCredentials.from_environment(environment)
    try:
        from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
    except ModuleNotFoundError as e:
        if (e.name or "").split(".")[0] not in ("alpaca", "requests"):
            raise
        raise MissingExtraError("trade", package="alpaca-py") from e
    return AlpacaBroker(credentials, settings, symbols, clock)
