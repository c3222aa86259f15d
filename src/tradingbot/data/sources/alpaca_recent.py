"""The last bars of many symbols from Alpaca, in one request: what a trading session decides on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta

import polars as pl

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Adjustment
from tradingbot.data.sources.download import SETTLING
from tradingbot.data.sources.pacing import Clock, Patience, TokenBucket
from tradingbot.data.sources.session_bars import to_session_bars
from tradingbot.data.sources.vendors import AlpacaCredentials, AlpacaSettings, vendor_timeframe
from tradingbot.domain.errors import MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.domain.timeframe import BarGrid, Timeframe


class AlpacaRecentBars:
    """Regular-session bars up to now; nothing is kept on disk.

    Args:
        symbols: As we spell them.
        timeframe: Length of the bars.
        credentials: Key pair.
        settings: `feed="iex"` has no delay; `sip` is free when older than 15 minutes.
        settling: How long after its close a bar is taken as complete.
        clock: Time, for pacing and for what is finished.
    """

    adjustment: Adjustment = "none"
    """Prices of each bar's own day: a session re-bases them itself."""
    calendar = "XNYS"

    def __init__(
        self,
        symbols: Sequence[str],
        timeframe: Timeframe,
        credentials: AlpacaCredentials,
        settings: AlpacaSettings = AlpacaSettings(feed="iex"),  # noqa: B008 - frozen
        *,
        settling: timedelta = timedelta(seconds=10),
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        self._symbols, self._timeframe = tuple(symbols), timeframe
        self._credentials, self._settings = credentials, settings
        self._settling, self._clock = settling, clock
        self._bucket = TokenBucket(settings.requests_per_minute, clock)

    def fetch(self, since: datetime) -> pl.DataFrame:
        """Return finished bars that closed after a moment, in the bar schema.

        A symbol without a bar, late or halted, has no row.

        Raises:
            MissingExtraError: If alpaca-py is not installed.
            SourceError: If Alpaca refuses, keeps failing, or answers nonsense.
        """
        try:
            from tradingbot.data.sources.alpaca_wire import AlpacaWire
        except ModuleNotFoundError as e:
            if (e.name or "").split(".")[0] not in ("alpaca", "requests"):
                raise
            raise MissingExtraError("alpaca", package="alpaca-py") from e
        settings, clock = self._settings, self._clock
        asked = vendor_timeframe(self._timeframe)
        patience = Patience(clock, stream(settings.seed, "recent", "alpaca"), settings.retry)
        wire = AlpacaWire(
            self._credentials, settings, asked, self.adjustment, self._bucket, patience
        )
        asked_at = clock.now()
        # The bar that closes just after `since` began before it.
        first = since - self._timeframe.duration
        with closing(wire):
            rows = wire.fetch_many(self._symbols, first, asked_at)
        rows = rows.with_columns(
            fetched_at=pl.lit(asked_at + SETTLING - self._settling).cast(pl.Datetime("us", "UTC"))
        )
        calendar = TradingCalendar.load(self.calendar, first.date(), asked_at.date())
        bars = to_session_bars(
            rows, calendar, self._timeframe, BarGrid.SESSION, vendor_timeframe=asked
        ).bars
        return bars.filter(pl.col("closed_at") > since).sort("symbol", "closed_at")
