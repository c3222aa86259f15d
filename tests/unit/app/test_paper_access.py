"""How a session reaches Alpaca's data: bars, trades and quotes that a free account may have now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from tradingbot.app.paper.access import DATA_URL_VARIABLE, data_settings
from tradingbot.data.sources.alpaca_recent import AlpacaRecentBars
from tradingbot.data.sources.pacing import Clock, RetryPolicy
from tradingbot.data.sources.vendors import AlpacaSettings
from tradingbot.domain.errors import SourceError
from tradingbot.domain.timeframe import Timeframe
from tradingbot.runtime.brokers.alpaca.last_prices import AlpacaPrices

OPEN = datetime(2026, 1, 5, 14, 30, tzinfo=UTC)


@pytest.fixture
def fake() -> FakeAlpaca:
    return FakeAlpaca(VenueOptions(symbols=("SPY",)), FaultPlan())


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1"])
def test_bars_of_sessions_are_of_the_exchange_that_has_no_delay(url: str) -> None:
    found = data_settings({DATA_URL_VARIABLE: url} if url else {})

    assert found.feed == "iex"
    assert not url or found.base_url == url


@pytest.mark.parametrize("ask", [AlpacaPrices.last, AlpacaPrices.quotes])
def test_trades_and_quotes_are_those_of_one_exchange(
    fake: FakeAlpaca, ask: Callable[[AlpacaPrices, list[str]], dict[str, object]]
) -> None:
    with fake:
        fake.do(quotes={"SPY": [100, 100.2]})
        prices = AlpacaPrices(CREDENTIALS, settings_of(fake), Clock())
        found = ask(prices, ["SPY"])
        prices.close()

    assert list(found) == ["SPY"]


def test_recent_bars_of_all_exchanges_are_refused_to_a_free_account(fake: FakeAlpaca) -> None:
    now = OPEN + timedelta(hours=2)

    def fetch(settings: AlpacaSettings) -> object:
        clock = Clock(now=lambda: now, sleep=lambda _: None)
        timeframe = Timeframe.parse("1h")
        return AlpacaRecentBars(["SPY"], timeframe, CREDENTIALS, settings, clock=clock).fetch(OPEN)

    usual = {"base_url": "", "retry": RetryPolicy(attempts=1), "requests_per_minute": 1e6}
    with fake:
        fake.do(time=now.isoformat())
        usual["base_url"] = fake.url
        fetch(AlpacaSettings(feed=data_settings({}).feed, **usual))  # type: ignore[arg-type]
        with pytest.raises(SourceError, match="feed your subscription includes"):
            fetch(AlpacaSettings(feed="sip", **usual))  # type: ignore[arg-type]
