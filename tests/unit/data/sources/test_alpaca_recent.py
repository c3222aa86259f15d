"""The last bars of many symbols from the fake Alpaca, through the real data client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fakes.alpaca import FakeAlpaca
from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from tradingbot.data.schema import BAR_COLUMNS
from tradingbot.data.sources.alpaca_recent import AlpacaRecentBars
from tradingbot.data.sources.pacing import Clock, RetryPolicy
from tradingbot.data.sources.vendors import AlpacaCredentials, AlpacaSettings
from tradingbot.domain.errors import SourceError
from tradingbot.domain.timeframe import Timeframe

OPEN = datetime(2026, 1, 5, 14, 30, tzinfo=UTC)  # 09:30 in New York


def feed(fake: FakeAlpaca, symbol: str, halves: int) -> None:
    """Half hours from 09:00 on: the first lies before the session."""
    for k in range(halves):
        at = OPEN + timedelta(minutes=30 * (k - 1))
        price = {"o": 100 + k, "h": 102 + k, "l": 99 + k, "c": 101 + k, "v": 10}
        fake.do(bars={symbol: {"t": at.isoformat(), **price}})


def source(fake: FakeAlpaca, now: datetime, **changes: Any) -> AlpacaRecentBars:
    return AlpacaRecentBars(
        ["SPY", "BRK-B", "AAPL"],
        Timeframe.parse("1h"),
        AlpacaCredentials(KEY_ID, SECRET_KEY),
        AlpacaSettings(
            base_url=fake.url, feed="iex", requests_per_minute=1e6, retry=RetryPolicy(attempts=1)
        ),
        clock=Clock(now=lambda: now, sleep=lambda _: None),
        **changes,
    )


def test_finished_hours_of_all_symbols_come_in_one_request() -> None:
    with FakeAlpaca() as fake:
        feed(fake, "SPY", 7)
        feed(fake, "BRK.B", 5)
        now = OPEN + timedelta(hours=3, seconds=5)
        bars = source(fake, now).fetch(OPEN)
        later = source(fake, now, settling=timedelta(0)).fetch(OPEN + timedelta(hours=1))

        assert fake.state()["requests"]["data"] == 2
        assert dict(zip(bars.columns, bars.dtypes, strict=True)).keys() == BAR_COLUMNS.keys()
        spans = [(row["symbol"], row["closed_at"] - OPEN) for row in bars.iter_rows(named=True)]
        hour = timedelta(hours=1)
        assert spans == [("BRK-B", hour), ("BRK-B", 2 * hour), ("SPY", hour), ("SPY", 2 * hour)]
        first = bars.row(0, named=True)
        assert [first[name] for name in ("open", "high", "low", "close", "volume")] == [
            *(101.0, 104.0, 100.0, 103.0, 20.0)
        ]
        assert [row["closed_at"] - OPEN for row in later.iter_rows(named=True)] == [
            *(2 * hour, 2 * hour, 3 * hour)
        ]


def test_no_bars_are_an_empty_frame_and_failures_are_said() -> None:
    with FakeAlpaca() as fake:
        bars = source(fake, OPEN + timedelta(hours=2)).fetch(OPEN)
        assert bars.is_empty()
        assert list(bars.columns) == list(BAR_COLUMNS)
        fake.do(faults={"next": [{"operation": "data", "fault": "502_html"}]})
        with pytest.raises(SourceError):
            source(fake, OPEN + timedelta(hours=2)).fetch(OPEN)
