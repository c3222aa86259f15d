"""Requests to Yahoo through `yfinance`; the only file that imports it.

We use its transport (browser impersonation, cookie, crumb, consent form) and read the answers
ourselves: `Ticker.history` replaces missing volumes by 0 and drops rows and repeats unannounced.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import polars as pl
from curl_cffi import requests
from yfinance.const import _BASE_URL_
from yfinance.data import YfData

from tradingbot.data.manifest import Adjustment
from tradingbot.data.sources.download import VENDOR_COLUMNS, DownloadChunk, to_number
from tradingbot.data.sources.pacing import (
    BROKEN_CONNECTION,
    Patience,
    TokenBucket,
    TransientFailure,
)
from tradingbot.data.sources.replies import Vendor, nonsense, read_json, require_success
from tradingbot.domain.timeframe import Timeframe

if TYPE_CHECKING:
    from tradingbot.data.sources.vendors import YahooSettings

_VENDOR = Vendor(
    "Yahoo",
    refused_remedy="Run the command again later, or use --source alpaca",
    request_remedy="Correct the symbol or the range (hourly bars reach back 730 days)",
)
_NOT_FOUND = 404
_CHART = "/v8/finance/chart/"
_SAME_LENGTH = {"60m": {"60m", "1h"}, "1h": {"60m", "1h"}}


class YahooWire:
    """yfinance's transport on a session of ours; use as a context manager."""

    def __init__(
        self,
        settings: YahooSettings,
        timeframe: Timeframe,
        adjustment: Adjustment,
        bucket: TokenBucket,
        patience: Patience,
    ) -> None:
        self._settings = settings
        self._interval = "60m" if str(timeframe) == "1h" else str(timeframe)
        self._adds_dividends = adjustment == "split_dividend"
        self._patience = patience
        self._session = _YahooSession(settings, bucket, patience)
        self._transport = _transport(self._session)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def fetch(self, chunk: DownloadChunk, until: datetime) -> pl.DataFrame:
        """Return the bars of `chunk` that started before `until`."""
        where = str(chunk)
        self._session.where = where

        def send() -> dict[str, Any]:
            reply = self._transport.get(
                f"{_BASE_URL_}{_CHART}{quote(chunk.symbol, safe='')}",
                params={
                    "period1": int(chunk.since.timestamp()),
                    "period2": int(until.timestamp()),
                    "interval": self._interval,
                    "includePrePost": "false",
                    "events": "",
                },
                timeout=self._settings.timeout_s,
            )
            if reply.status_code != _NOT_FOUND:
                require_success(reply, _VENDOR, where=where, now=self._patience.clock.now())
            return read_json(reply)

        body = self._patience.ask(send, vendor=_VENDOR.name, where=where)
        try:
            rows = self._to_rows(body["chart"], chunk)
        except (LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as e:
            raise nonsense(_VENDOR, f"a malformed chart ({type(e).__name__})", where=where) from e
        # Yahoo may append the latest price, whatever range was asked for.
        return rows.filter(pl.col("started_at").is_between(chunk.since, until, closed="left"))

    def _to_rows(self, chart: dict[str, Any], chunk: DownloadChunk) -> pl.DataFrame:
        error = chart.get("error")
        if error and error.get("code") == "Not Found":  # unknown, delisted, or nothing in the range
            return pl.DataFrame(schema=VENDOR_COLUMNS)
        if error:
            raise nonsense(_VENDOR, error["description"], where=str(chunk))
        result = chart["result"][0]
        self._require_asked_for(result["meta"], chunk)
        stamps = result.get("timestamp") or []
        if not stamps:
            return pl.DataFrame(schema=VENDOR_COLUMNS)
        prices = result["indicators"]["quote"][0]
        columns = {
            name: [to_number(value) for value in prices[name]]
            for name in ("open", "high", "low", "close", "volume")
        }
        epoch_us = [int(stamp) * 1_000_000 for stamp in stamps]
        rows = pl.DataFrame(
            {"started_at": epoch_us, **columns, "vwap": [math.nan] * len(stamps)}
        ).select(pl.col(name).cast(kind) for name, kind in VENDOR_COLUMNS.items())
        if not self._adds_dividends:
            return rows
        adjusted = [to_number(value) for value in result["indicators"]["adjclose"][0]["adjclose"]]
        factor = pl.Series(adjusted, dtype=pl.Float64) / rows["close"]
        return rows.with_columns(pl.col("open", "high", "low", "close") * factor)

    def _require_asked_for(self, meta: dict[str, Any], chunk: DownloadChunk) -> None:
        symbol = meta["symbol"]
        if symbol != chunk.symbol:
            raise nonsense(_VENDOR, f"bars of {symbol}", where=str(chunk))
        length = meta.get("dataGranularity", self._interval)
        if length not in _SAME_LENGTH.get(self._interval, {self._interval}):
            raise nonsense(_VENDOR, f"bars of {length}", where=str(chunk))


def _transport(session: _YahooSession) -> YfData:
    """Make a transport of our own: `YfData()` would return the one the whole process shares."""
    transport = _Transport.__new__(_Transport)
    transport.__init__(session)  # type: ignore[misc]
    return transport


class _Transport(YfData):  # type: ignore[misc]
    """yfinance's transport without its cookie file, which is a pickle in the user's home.

    The cookie stays in the session; only the fact that there is one is remembered, or the library
    would ask for it again before each request.
    """

    def _load_cookie_curlCffi(self) -> bool:  # noqa: N802 - the library's name
        return False

    def _save_cookie_curlCffi(self) -> bool:  # noqa: N802
        self._cookie = True
        return True


class _YahooSession(requests.Session[requests.Response]):
    """Paces and bounds every request; judges answers with bars before yfinance retries them.

    Only 401 and 403 are left to the library first: it then renews cookie and crumb and asks once
    more.
    """

    def __init__(self, settings: YahooSettings, bucket: TokenBucket, patience: Patience) -> None:
        super().__init__(impersonate="chrome")
        self._settings = settings
        self._bucket = bucket
        self._patience = patience
        self.where = ""

    def request(self, method: Any, url: str, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send one request."""
        self._bucket.take()
        options["timeout"] = self._settings.timeout_s
        is_chart = _CHART in url
        try:
            reply = super().request(method, self._moved(url), **options)
        except requests.exceptions.RequestException as e:
            if not is_chart:
                raise  # cookie or crumb: yfinance goes on without them
            is_slow = isinstance(e, requests.exceptions.Timeout)
            slow = f"no answer in {self._settings.timeout_s:g} s"
            raise TransientFailure(slow if is_slow else BROKEN_CONNECTION) from e
        if is_chart and reply.status_code not in (401, 403, _NOT_FOUND):
            require_success(reply, _VENDOR, where=self.where, now=self._patience.clock.now())
        return reply

    def _moved(self, url: str) -> str:
        """Send to `base_url` what is meant for any of Yahoo's hosts."""
        if self._settings.base_url is None:
            return url
        parts = urlsplit(url)
        query = f"?{parts.query}" if parts.query else ""
        return self._settings.base_url.rstrip("/") + (parts.path or "/") + query
