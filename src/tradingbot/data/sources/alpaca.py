"""Bars of US stocks from Alpaca: credentials, settings, and the source itself.

The requests are in `alpaca_wire`, the only file that imports the vendor's package.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.download import ChunkCache, DownloadRequest, download, plan
from tradingbot.data.sources.pacing import Clock, Patience, RetryPolicy, TokenBucket
from tradingbot.data.sources.replies import require_base_url
from tradingbot.data.sources.session_bars import to_session_bars
from tradingbot.data.sources.source import Progress, RawBars, ignore_progress
from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.domain.timeframe import Timeframe

KEY_VARIABLE = "APCA_API_KEY_ID"
SECRET_VARIABLE = "APCA_API_SECRET_KEY"

_MINUTE = timedelta(minutes=1)
_HALF_HOUR_MINUTES = 30  # sessions open and close on half hours, so bars up to this long fit
_BARS_PER_CHUNK = 8_000  # below the vendor's page of 10,000
_BARS_PER_DAY_HOURS = 16 * 5 / 7  # 04:00-20:00 New York time on five days of seven


@dataclass(frozen=True)
class AlpacaCredentials:
    """A key pair; neither part ever shows in a repr, an error or a file."""

    key_id: str = field(repr=False)
    secret_key: str = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse empty parts and characters that no HTTP header can carry."""
        for variable, value in ((KEY_VARIABLE, self.key_id), (SECRET_VARIABLE, self.secret_key)):
            if not value:
                raise ConfigError(
                    f"environment variable {variable} must be set",
                    was="empty or unset",
                    remedy=f"Set {KEY_VARIABLE} and {SECRET_VARIABLE} to your Alpaca key pair",
                )
            if not value.isascii() or not value.isprintable() or " " in value:
                raise ConfigError(
                    f"environment variable {variable} must be printable ASCII without spaces",
                    remedy="Copy the key again, without quotes or line breaks",
                )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> AlpacaCredentials:
        """Read the key pair from the environment; an empty variable counts as unset.

        Raises:
            ConfigError: Naming the variable to set.
        """
        return cls(environment.get(KEY_VARIABLE, ""), environment.get(SECRET_VARIABLE, ""))


@dataclass(frozen=True)
class AlpacaSettings:
    """How to ask Alpaca."""

    feed: Literal["sip", "iex"] = "sip"
    """`sip`: all US exchanges (free when older than 15 minutes); `iex`: one exchange."""
    requests_per_minute: float = 200.0
    timeout_s: float = 30.0
    """For connecting, and for each silence of the server."""
    base_url: str = "https://data.alpaca.markets"
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    seed: int = 0
    """Root of the stream the retry jitter is drawn from."""

    def __post_init__(self) -> None:
        """Refuse an unknown feed, an endless wait, or an unsafe address."""
        if self.feed not in ("sip", "iex"):
            raise ConfigError("feed must be sip or iex", was=repr(self.feed))
        if not 0 < self.timeout_s < math.inf:
            raise ConfigError("timeout must be above 0 s and finite", was=self.timeout_s)
        require_base_url(self.base_url)


class AlpacaSource:
    """Regular-session bars from Alpaca, fetched piece by piece and kept on disk.

    Alpaca's hourly bars lie on the clock: the one of 09:00 mixes half an hour before the opening
    with half an hour after it. So we fetch half-hour bars (or shorter, where the bar asked for
    needs it), leave out those outside the session, and merge the rest onto the grid asked for.

    `BRK-B` is asked for as `BRK.B`, Alpaca's spelling of share classes.
    """

    def __init__(
        self,
        request: DownloadRequest,
        credentials: AlpacaCredentials,
        cache_folder: Path,
        settings: AlpacaSettings = AlpacaSettings(),  # noqa: B008 - frozen
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        self._request = request
        self._credentials = credentials
        self._cache_folder = cache_folder
        self._settings = settings
        self._clock = clock

    @property
    def id(self) -> str:
        """Short name."""
        return "alpaca"

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        """Download what is missing and deliver all bars.

        Raises:
            ConfigError: If the range ends in the future.
            MissingExtraError: If `alpaca-py` is not installed.
            SourceError: If Alpaca refuses, keeps failing, or has no bar of a symbol.
        """
        request, settings = self._request, self._settings
        try:
            from tradingbot.data.sources.alpaca_wire import AlpacaWire
        except ModuleNotFoundError as e:
            if (e.name or "").split(".")[0] not in ("alpaca", "requests"):
                raise
            raise MissingExtraError("alpaca", package="alpaca-py") from e

        asked = vendor_timeframe(request.timeframe)
        calendar = TradingCalendar.load(request.calendar, request.start, request.end)
        patience = Patience(
            self._clock, stream(settings.seed, "download", "alpaca"), settings.retry
        )
        bucket = TokenBucket(settings.requests_per_minute, self._clock)
        identity = {
            "vendor": self.id,
            "timeframe": str(asked),
            "adjustment": request.adjustment,
            "feed": settings.feed,
        }
        cache = ChunkCache(self._cache_folder, identity, self._clock)
        with AlpacaWire(
            self._credentials, settings, asked, request.adjustment, bucket, patience
        ) as wire:
            rows = download(
                plan(request, days=_chunk_days(asked)), wire, cache, self._clock, progress
            )
        session = to_session_bars(
            rows, calendar, request.timeframe, request.grid, vendor_timeframe=asked
        )
        return RawBars(session.bars, self._provenance(session.left_out, asked))

    def _provenance(self, left_out: dict[str, int], asked: Timeframe) -> Provenance:
        request = self._request
        return Provenance(
            provider=self.id,
            detail={
                "feed": self._settings.feed,
                "start": request.start.isoformat(),
                "end": request.end.isoformat(),
                "vendor_timeframe": str(asked),
                **left_out,
            },
            timeframe=str(request.timeframe),
            grid=request.grid,
            calendar=request.calendar,
            adjustment=request.adjustment,
            vwap="vendor",
        )


def vendor_timeframe(timeframe: Timeframe) -> Timeframe:
    """Longest bar we may ask for so that the bars wanted can be built from whole ones.

    Example:
        >>> [str(vendor_timeframe(Timeframe.parse(t))) for t in ("1h", "90m", "15m", "1d")]
        ['30m', '30m', '15m', '1d']
    """
    if timeframe.is_daily:
        return timeframe
    return Timeframe(math.gcd(timeframe.duration // _MINUTE, _HALF_HOUR_MINUTES), "m")


def _chunk_days(asked: Timeframe) -> int:
    """Days whose bars fit in one page of an answer."""
    if asked.is_daily:
        return _BARS_PER_CHUNK
    bars_per_day = _BARS_PER_DAY_HOURS * timedelta(hours=1) / asked.duration
    return max(7, int(_BARS_PER_CHUNK / bars_per_day))
