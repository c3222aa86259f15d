"""Bars from Yahoo Finance: settings and the source itself.

The requests are in `yahoo_wire`, the only file that imports the vendor's package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.download import ChunkCache, DownloadRequest, download, plan
from tradingbot.data.sources.pacing import Clock, Patience, RetryPolicy, TokenBucket
from tradingbot.data.sources.replies import require_base_url
from tradingbot.data.sources.session_bars import to_session_bars
from tradingbot.data.sources.source import Progress, RawBars, ignore_progress
from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.domain.timeframe import BarGrid

CHUNK_DAYS = {"1m": 7, "2m": 28, "5m": 28, "15m": 28, "60m": 364, "1h": 364, "90m": 28, "1d": 3640}
"""Bar lengths Yahoo has, and days per request. 30m is absent: Yahoo answers it with other bars."""


@dataclass(frozen=True)
class YahooSettings:
    """How to ask Yahoo."""

    requests_per_minute: float = 60.0
    """Yahoo publishes no limit."""
    timeout_s: float = 30.0
    """For a whole request."""
    base_url: str | None = None
    """Send every request to this address instead of Yahoo's, e.g. a gateway."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    seed: int = 0
    """Root of the stream the retry jitter is drawn from."""

    def __post_init__(self) -> None:
        """Refuse an endless wait or an unsafe address."""
        if not 0 < self.timeout_s < math.inf:
            raise ConfigError("timeout must be above 0 s and finite", was=self.timeout_s)
        if self.base_url is not None:
            require_base_url(self.base_url)


class YahooSource:
    """Regular-session bars from Yahoo, fetched piece by piece and kept on disk.

    Yahoo's bars lie on the session's grid and are always split-adjusted; dividends are in daily
    bars only. It keeps hourly bars for 730 days, shorter ones for 60, 1m for 30; it has no vwap.
    """

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
        self._request = _require_available(request)
        self._cache_folder = cache_folder
        self._settings = settings
        self._clock = clock

    @property
    def id(self) -> str:
        """Short name."""
        return "yfinance"

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Download what is missing and deliver all bars.

        Raises:
            ConfigError: If the range ends in the future.
            MissingExtraError: If `yfinance` is not installed.
            SourceError: If Yahoo refuses, keeps failing, or has no bar of a symbol.
        """
        request, settings = self._request, self._settings
        try:
            from tradingbot.data.sources.yahoo_wire import YahooWire
        except ModuleNotFoundError as e:
            if (e.name or "").split(".")[0] not in ("yfinance", "curl_cffi"):
                raise
            raise MissingExtraError("yfinance", package="yfinance") from e

        calendar = TradingCalendar.load(request.calendar, request.start, request.end)
        jitter = stream(settings.seed, "download", self.id)
        patience = Patience(self._clock, jitter, settings.retry)
        bucket = TokenBucket(settings.requests_per_minute, self._clock)
        identity = {
            "vendor": self.id,
            "timeframe": str(request.timeframe),
            "adjustment": request.adjustment,
        }
        cache = ChunkCache(self._cache_folder, identity, self._clock)
        chunks = plan(request, days=CHUNK_DAYS[str(request.timeframe)])
        with YahooWire(settings, request.timeframe, request.adjustment, bucket, patience) as wire:
            rows = download(chunks, wire, cache, self._clock, progress)
        session = to_session_bars(
            rows, calendar, request.timeframe, request.grid, vendor_timeframe=request.timeframe
        )
        return RawBars(session.bars, self._provenance(session.left_out))

    def _provenance(self, left_out: dict[str, int]) -> Provenance:
        request = self._request
        return Provenance(
            provider=self.id,
            detail={
                "start": request.start.isoformat(),
                "end": request.end.isoformat(),
                **left_out,
            },
            timeframe=str(request.timeframe),
            grid=request.grid,
            calendar=request.calendar,
            adjustment=request.adjustment,
            vwap="typical_price",
        )


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
