"""Vendors that bars can be downloaded from: Alpaca and Yahoo Finance, and how each is opened.

The requests are in `alpaca_wire` and `yahoo_wire`, the only files that import vendors' packages.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.pacing import Clock, Patience, TokenBucket
from tradingbot.data.sources.replies import require_base_url
from tradingbot.data.sources.source import BarSource
from tradingbot.data.sources.vendor_source import VendorSettings, VendorSource
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.domain.timeframe import BarGrid, Timeframe

if TYPE_CHECKING:
    from tradingbot.data.sources.alpaca_wire import AlpacaWire
    from tradingbot.data.sources.yahoo_wire import YahooWire

KEY_VARIABLE = "APCA_API_KEY_ID"
SECRET_VARIABLE = "APCA_API_SECRET_KEY"  # noqa: S105 - the name of a variable

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
                rule = f"environment variable {variable} must be set"
                remedy = f"Set {KEY_VARIABLE} and {SECRET_VARIABLE} to your Alpaca key pair"
                raise ConfigError(rule, was="empty or unset", remedy=remedy)
            if not value.isascii() or not value.isprintable() or " " in value:
                rule = f"environment variable {variable} must be printable ASCII without spaces"
                raise ConfigError(rule, remedy="Copy the key again, without quotes or line breaks")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> AlpacaCredentials:
        """Read the key pair from the environment; an empty variable counts as unset.

        Raises:
            ConfigError: Naming the variable to set.
        """
        return cls(environment.get(KEY_VARIABLE, ""), environment.get(SECRET_VARIABLE, ""))


@dataclass(frozen=True, kw_only=True)
class AlpacaSettings(VendorSettings):
    """How to ask Alpaca."""

    requests_per_minute: float = 200.0
    timeout_s: float = 30.0
    """For connecting, and for each silence of the server."""
    base_url: str = "https://data.alpaca.markets"
    feed: Literal["sip", "iex"] = "sip"
    """`sip`: all US exchanges (free when older than 15 minutes); `iex`: one exchange."""

    def __post_init__(self) -> None:
        """Refuse an unknown feed, an endless wait, or an unsafe address."""
        if self.feed not in ("sip", "iex"):
            raise ConfigError("feed must be sip or iex", was=repr(self.feed))
        require_base_url(self.base_url)
        super().__post_init__()


class AlpacaSource(VendorSource):
    """Regular-session bars from Alpaca, fetched piece by piece and kept on disk.

    Alpaca's hourly bars lie on the clock: the one of 09:00 mixes half an hour before the opening
    with half an hour after it. So we fetch half-hour bars (or shorter, where the bar asked for
    needs it), leave out those outside the session, and merge the rest onto the grid asked for.

    `BRK-B` is asked for as `BRK.B`, Alpaca's spelling of share classes.
    """

    id = "alpaca"
    package, modules = "alpaca-py", ("alpaca", "requests")

    def __init__(
        self,
        request: DownloadRequest,
        credentials: AlpacaCredentials,
        cache_folder: Path,
        settings: AlpacaSettings = AlpacaSettings(),  # noqa: B008 - frozen
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(request, cache_folder, settings, clock)
        self._credentials, self._settings = credentials, settings

    def _open_wire(self, asked: Timeframe, bucket: TokenBucket, patience: Patience) -> AlpacaWire:
        from tradingbot.data.sources.alpaca_wire import AlpacaWire

        adjustment = self._request.adjustment
        return AlpacaWire(self._credentials, self._settings, asked, adjustment, bucket, patience)

    def _chunk_days(self, asked: Timeframe) -> int:
        if asked.is_daily:
            return _BARS_PER_CHUNK
        bars_per_day = _BARS_PER_DAY_HOURS * timedelta(hours=1) / asked.duration
        return max(7, int(_BARS_PER_CHUNK / bars_per_day))

    def _vendor_timeframe(self) -> Timeframe:
        return vendor_timeframe(self._request.timeframe)

    def _terms(self) -> dict[str, str]:
        return {"feed": self._settings.feed}

    def _detail(self) -> dict[str, str]:
        asked = str(self._vendor_timeframe())
        return {**self._terms(), **super()._detail(), "vendor_timeframe": asked}


def vendor_timeframe(timeframe: Timeframe) -> Timeframe:
    """Longest bar we may ask for so that the bars wanted can be built from whole ones.

    Example:
        >>> [str(vendor_timeframe(Timeframe.parse(t))) for t in ("1h", "90m", "15m", "1d")]
        ['30m', '30m', '15m', '1d']
    """
    if timeframe.is_daily:
        return timeframe
    return Timeframe(math.gcd(timeframe.duration // _MINUTE, _HALF_HOUR_MINUTES), "m")


CHUNK_DAYS = {"1m": 7, "2m": 28, "5m": 28, "15m": 28, "60m": 364, "1h": 364, "90m": 28, "1d": 3640}
"""Bar lengths Yahoo has, and days per request. 30m is absent: Yahoo answers it with other bars."""


@dataclass(frozen=True, kw_only=True)
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
        rule = f"Yahoo adjustment of {request.timeframe} bars must be {' or '.join(available)}"
        remedy = "Use --adjustment split, or --source alpaca"
        raise ConfigError(rule, was=request.adjustment, remedy=remedy)
    return request


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
