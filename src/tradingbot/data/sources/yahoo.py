"""Bars from Yahoo Finance: settings and the source itself.

The requests are in `yahoo_wire`, the only file that imports the vendor's package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.pacing import Clock, Patience, TokenBucket
from tradingbot.data.sources.vendor_source import VendorSettings, VendorSource
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.timeframe import BarGrid, Timeframe

if TYPE_CHECKING:
    from tradingbot.data.sources.yahoo_wire import YahooWire

CHUNK_DAYS = {"1m": 7, "2m": 28, "5m": 28, "15m": 28, "60m": 364, "1h": 364, "90m": 28, "1d": 3640}
"""Bar lengths Yahoo has, and days per request. 30m is absent: Yahoo answers it with other bars."""


@dataclass(frozen=True)
class YahooSettings(VendorSettings):
    """How to ask Yahoo, which publishes no limit; the timeout is for a whole request."""


class YahooSource(VendorSource):
    """Regular-session bars from Yahoo, fetched piece by piece and kept on disk.

    Yahoo's bars lie on the session's grid and are always split-adjusted; dividends are in daily
    bars only. It keeps hourly bars for 730 days, shorter ones for 60, 1m for 30; it has no vwap.
    """

    id = "yfinance"
    package, modules = "yfinance", ("yfinance", "curl_cffi")
    vwap = "typical_price"

    def __init__(
        self,
        request: DownloadRequest,
        cache_folder: Path,
        settings: YahooSettings = YahooSettings(),  # noqa: B008 - frozen
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        """Keep the settings; nothing is sent yet.

        Raises:
            ConfigError: If Yahoo has no such bars.
        """
        super().__init__(_require_available(request), cache_folder, settings, clock)
        self._settings = settings

    def _open_wire(self, asked: Timeframe, bucket: TokenBucket, patience: Patience) -> YahooWire:
        from tradingbot.data.sources.yahoo_wire import YahooWire

        return YahooWire(self._settings, asked, self._request.adjustment, bucket, patience)

    def _chunk_days(self, asked: Timeframe) -> int:
        return CHUNK_DAYS[str(asked)]


def _require_available(request: DownloadRequest) -> DownloadRequest:
    if str(request.timeframe) not in CHUNK_DAYS:
        raise ConfigError(
            "Yahoo timeframe must be one of " + ", ".join(CHUNK_DAYS),
            was=str(request.timeframe),
            remedy="Choose one of them, or --source alpaca",
        )
    if request.grid is not BarGrid.SESSION:
        raise ConfigError(
            "Yahoo bars lie on the session's grid", was=request.grid, remedy="Use --source alpaca"
        )
    available = ("split", "split_dividend") if request.timeframe.is_daily else ("split",)
    if request.adjustment not in available:
        raise ConfigError(
            f"Yahoo adjustment of {request.timeframe} bars must be {' or '.join(available)}",
            was=request.adjustment,
            remedy="Use --adjustment split, or --source alpaca",
        )
    return request
