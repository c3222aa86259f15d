"""Which vendors can be downloaded from, and how each is opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tradingbot.data.sources.alpaca import AlpacaCredentials, AlpacaSource
from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.source import BarSource
from tradingbot.data.sources.yahoo import YahooSource
from tradingbot.domain.errors import require_known


def _open_alpaca(request: DownloadRequest, cache_folder: Path) -> BarSource:
    return AlpacaSource(request, AlpacaCredentials.from_environment(os.environ), cache_folder)


VENDORS: dict[str, Callable[[DownloadRequest, Path], BarSource]] = {
    "alpaca": _open_alpaca,
    "yfinance": YahooSource,
}


def open_vendor(name: str, request: DownloadRequest, cache_folder: Path) -> BarSource:
    """Return the source of a vendor.

    Raises:
        ConfigError: If the vendor is unknown or its keys are not set.
    """
    require_known(name, VENDORS, "source must be a known vendor")
    return VENDORS[name](request, cache_folder)
