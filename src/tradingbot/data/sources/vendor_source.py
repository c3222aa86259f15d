"""What downloads from vendors have in common: their settings, and the way from request to bars."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance, VwapOrigin
from tradingbot.data.sources.download import ChunkCache, DownloadRequest, Wire, download, plan
from tradingbot.data.sources.pacing import Clock, Patience, RetryPolicy, TokenBucket
from tradingbot.data.sources.replies import require_base_url
from tradingbot.data.sources.session_bars import to_session_bars
from tradingbot.data.sources.source import Progress, RawBars, ignore_progress
from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.domain.timeframe import Timeframe

SYMBOLS_WITHOUT_BARS = "symbols_without_bars"
"""What a provenance calls symbols that were asked for and have no bar."""


@dataclass(frozen=True, kw_only=True)
class VendorSettings:
    """How to ask a vendor."""

    requests_per_minute: float = 60.0
    timeout_s: float = 30.0
    base_url: str | None = None
    """Send every request to this address instead of the vendor's, e.g. a gateway."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    seed: int = 0
    """Root of the stream the retry jitter is drawn from."""

    def __post_init__(self) -> None:
        """Refuse an endless wait or an unsafe address."""
        if not 0 < self.timeout_s < math.inf:
            raise ConfigError("timeout must be above 0 s and finite", was=self.timeout_s)
        if self.base_url is not None:
            require_base_url(self.base_url)


class VendorSource(ABC):
    """Regular-session bars of a vendor, fetched piece by piece and kept on disk."""

    id = ""
    """Short name, and the extra that holds the vendor's package."""
    package = ""
    """The vendor's package, as it is installed."""
    modules: tuple[str, ...] = ()
    """What its absence shows by."""
    vwap: VwapOrigin = "vendor"

    def __init__(
        self, request: DownloadRequest, cache_folder: Path, settings: VendorSettings, clock: Clock
    ) -> None:
        """Keep the settings; nothing is sent yet."""
        self._request, self._cache_folder = request, cache_folder
        self._own_settings, self._clock = settings, clock

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Download what is missing and deliver all bars.

        Raises:
            ConfigError: If the range ends in the future.
            MissingExtraError: If the vendor's package is not installed.
            SourceError: If the vendor refuses, keeps failing, or has no bar of any symbol; symbols
                without bars are left out and named in the provenance.
        """
        request, settings, clock = self._request, self._own_settings, self._clock
        asked = self._vendor_timeframe()
        patience = Patience(clock, stream(settings.seed, "download", self.id), settings.retry)
        bucket = TokenBucket(settings.requests_per_minute, clock)
        terms = {"timeframe": str(asked), "adjustment": request.adjustment}
        cache = ChunkCache(self._cache_folder, {"vendor": self.id, **terms, **self._terms()}, clock)
        with closing(self._installed_wire(asked, bucket, patience)) as wire:
            calendar = TradingCalendar.load(request.calendar, request.start, request.end)
            chunks = plan(request, days=self._chunk_days(asked))
            rows = download(chunks, wire, cache, clock, progress)
        session = to_session_bars(
            rows, calendar, request.timeframe, request.grid, vendor_timeframe=asked
        )
        without = sorted({*request.symbols} - {*rows["symbol"]})
        left_out = {SYMBOLS_WITHOUT_BARS: ", ".join(without)} if without else {}
        provenance = Provenance(
            provider=self.id,
            detail={**self._detail(), **session.left_out, **left_out},
            timeframe=str(request.timeframe),
            grid=request.grid,
            calendar=request.calendar,
            adjustment=request.adjustment,
            vwap=self.vwap,
        )
        return RawBars(session.bars, provenance)

    @abstractmethod
    def _open_wire(self, asked: Timeframe, bucket: TokenBucket, patience: Patience) -> Wire:
        """Open the vendor's client; its package is imported here."""

    @abstractmethod
    def _chunk_days(self, asked: Timeframe) -> int:
        """Days whose bars fit in one answer."""

    def _vendor_timeframe(self) -> Timeframe:
        """Length of the bars to ask for."""
        return self._request.timeframe

    def _terms(self) -> dict[str, str]:
        """What else changes the vendor's answer."""
        return {}

    def _detail(self) -> dict[str, str]:
        """What identifies the download, for its provenance."""
        request = self._request
        return {"start": request.start.isoformat(), "end": request.end.isoformat()}

    def _installed_wire(self, asked: Timeframe, bucket: TokenBucket, patience: Patience) -> Wire:
        try:
            return self._open_wire(asked, bucket, patience)
        except ModuleNotFoundError as e:
            if (e.name or "").split(".")[0] not in self.modules:
                raise
            raise MissingExtraError(self.id, package=self.package) from e
