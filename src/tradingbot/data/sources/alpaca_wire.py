"""Requests to Alpaca through its official client; the only file that imports it.

The client waits for ever, retries on its own, and reports a broken answer by a `JSONDecodeError`.
So each of its requests goes through a session that paces it, bounds its time, retries it by our
policy, and hands on whole answers only: the client never sees anything to retry.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import requests

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

with warnings.catch_warnings():  # the client loads a deprecated module that we never use
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.data.enums import Adjustment as AlpacaAdjustment
    from alpaca.data.enums import DataFeed
    from alpaca.data.historical import StockHistoricalDataClient
    from alpaca.data.requests import StockBarsRequest
    from alpaca.data.timeframe import TimeFrame, TimeFrameUnit

if TYPE_CHECKING:
    from tradingbot.data.sources.vendors import AlpacaCredentials, AlpacaSettings

_ADJUSTMENTS = {
    "none": AlpacaAdjustment.RAW,
    "split": AlpacaAdjustment.SPLIT,
    "split_dividend": AlpacaAdjustment.ALL,
}
_UNITS = {"m": TimeFrameUnit.Minute, "h": TimeFrameUnit.Hour, "d": TimeFrameUnit.Day}
_FIELDS = {"open": "o", "high": "h", "low": "l", "close": "c", "volume": "v", "vwap": "vw"}


class AlpacaWire:
    """`StockHistoricalDataClient` on a session of ours; use as a context manager."""

    def __init__(
        self,
        credentials: AlpacaCredentials,
        settings: AlpacaSettings,
        timeframe: Timeframe,
        adjustment: Adjustment,
        bucket: TokenBucket,
        patience: Patience,
    ) -> None:
        self._vendor = Vendor(
            "Alpaca",
            refused_remedy="Set APCA_API_KEY_ID and APCA_API_SECRET_KEY to a valid key pair, "
            "or choose a feed your subscription includes",
            request_remedy="Correct the symbols or the range",
            secrets=(credentials.secret_key, credentials.key_id),
        )
        self._settings = settings
        self._timeframe = TimeFrame(timeframe.count, _UNITS[timeframe.unit])
        self._adjustment = _ADJUSTMENTS[adjustment]
        self._session = _AlpacaSession(settings.timeout_s, self._vendor, bucket, patience)
        self._client = StockHistoricalDataClient(
            credentials.key_id,
            credentials.secret_key,
            raw_data=True,
            url_override=settings.base_url.rstrip("/"),
        )
        # The client has no public way to set either; its own session has no timeout.
        self._client._session.close()
        self._client._session = self._session
        self._client._retry = 0

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def fetch(self, chunk: DownloadChunk, until: datetime) -> pl.DataFrame:
        """Return the bars of `chunk` that started before `until`, over as many pages as needed."""
        return self.fetch_many([chunk.symbol], chunk.since, until, where=str(chunk)).drop("symbol")

    def fetch_many(
        self, symbols: Sequence[str], since: datetime, until: datetime, *, where: str | None = None
    ) -> pl.DataFrame:
        """Return `symbol` and `VENDOR_COLUMNS` of bars that started in [since, until)."""
        ours = {symbol.replace("-", "."): symbol for symbol in symbols}
        where = where or f"{len(ours)} symbols since {since:%Y-%m-%dT%H:%MZ}"
        request = StockBarsRequest(
            symbol_or_symbols=list(ours) if len(ours) > 1 else next(iter(ours)),
            timeframe=self._timeframe,
            start=since,
            end=until,
            adjustment=self._adjustment,
            feed=DataFeed(self._settings.feed),
        )
        self._session.begin(where)
        try:
            answer: Any = self._client.get_stock_bars(request)
        except _NoBars:
            answer = {}
        if set(answer) - set(ours):
            others = ", ".join(sorted(set(answer) - set(ours)))
            raise nonsense(self._vendor, f"bars of {others}", where=where)
        empty = pl.DataFrame(schema={"symbol": pl.String, **VENDOR_COLUMNS})
        frames = [
            self._to_rows(bars or [], where).select(pl.lit(ours[symbol]).alias("symbol"), pl.all())
            for symbol, bars in answer.items()
        ]
        rows = pl.concat([empty, *frames])
        # Alpaca includes a bar that starts at `until`; it belongs to the next piece.
        return rows.filter(pl.col("started_at").is_between(since, until, closed="left"))

    def _to_rows(self, bars: list[dict[str, Any]], where: str) -> pl.DataFrame:
        try:
            columns: dict[str, list[Any]] = {
                "started_at": [datetime.fromisoformat(bar["t"]) for bar in bars]
            }
            for name, key in _FIELDS.items():
                columns[name] = [to_number(bar[key]) for bar in bars]
            return pl.DataFrame(columns, schema=VENDOR_COLUMNS)
        except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as e:
            raise nonsense(
                self._vendor, f"a malformed bar ({type(e).__name__})", where=where
            ) from e


class _NoBars(Exception):  # noqa: N818 - not an error: the vendor has nothing in the range
    """The vendor wrote null for its bars, which the client cannot read."""


class _AlpacaSession(requests.Session):
    """Paces, bounds, judges and retries every request of the client."""

    def __init__(
        self, timeout_s: float, vendor: Vendor, bucket: TokenBucket, patience: Patience
    ) -> None:
        super().__init__()
        self._timeout_s = timeout_s
        self._vendor = vendor
        self._bucket = bucket
        self._patience = patience
        self.begin("")

    def begin(self, where: str) -> None:
        """Name the piece the next requests belong to."""
        self._where = where
        self._page_tokens: set[str | None] = set()

    def request(self, method: str, url: str, *args: Any, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send a request until it is answered or our patience ends."""
        token = (options.get("params") or {}).get("page_token")
        if token in self._page_tokens:
            raise nonsense(self._vendor, "the same page again", where=self._where)
        self._page_tokens.add(token)
        options["timeout"] = self._timeout_s

        def send() -> requests.Response:
            self._bucket.take()
            return self._check_answer(
                lambda: super(_AlpacaSession, self).request(method, url, *args, **options), token
            )

        return self._patience.ask(send, vendor=self._vendor.name, where=self._where)

    def _check_answer(
        self, send: Callable[[], requests.Response], token: str | None
    ) -> requests.Response:
        try:
            reply = send()
        except requests.Timeout as e:
            raise TransientFailure(f"no answer in {self._timeout_s:g} s") from e
        except (requests.exceptions.ChunkedEncodingError, requests.ConnectionError) as e:
            raise TransientFailure(BROKEN_CONNECTION) from e
        require_success(reply, self._vendor, where=self._where, now=self._patience.clock.now())
        body = read_json(reply)
        if "bars" not in body:
            raise nonsense(self._vendor, "JSON without bars", where=self._where)
        if body["bars"] is None and token is None:
            raise _NoBars
        if not isinstance(body["bars"], dict):
            raise nonsense(self._vendor, "bars that are no object", where=self._where)
        return reply
