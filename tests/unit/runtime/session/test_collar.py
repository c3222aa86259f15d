"""Market orders of sessions and the price collar: what the venue trades at when they are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from fixtures.replayed_sessions import FIRST, NAME, SYMBOLS, open_session
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.order import OrderStatus
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.brokers.alpaca.last_prices import AlpacaPrices

COLLAR = replace(WIDEST_SESSION_LIMITS, price_collar_frac=0.05)


@pytest.mark.parametrize(
    ("factor", "is_denied"),
    [
        *((1.0, False), (1.049, False), (0.951, False), (1.051, True), (0.949, True)),
        *((None, True), (math.nan, True), (math.inf, True), (0.0, True)),
    ],
)
def test_market_order_is_held_to_what_the_venue_trades_at(
    tmp_path: Path, factor: float | None, is_denied: bool
) -> None:
    opened = open_session(tmp_path, stop=FIRST + 3, session_limits=COLLAR)
    session = opened.session

    def prices(symbols: Sequence[str]) -> Mapping[str, float]:
        if factor is None:
            return {}
        lanes = [session.symbols.index(each) for each in symbols]
        last = session.facts.last[lanes] * factor
        return dict(zip(symbols, last.tolist(), strict=True))

    session.desk.prices = prices
    opened.run(FIRST + 1)
    orders = [each for each in opened.journal.orders(NAME) if "own account" not in str(each.reason)]
    opened.close()

    assert orders
    reasons = {(each.reason or "").split(":")[0] for each in orders}
    assert reasons == ({"PRICE_COLLAR"} if is_denied else {""})
    assert all((each.status is OrderStatus.DENIED) == is_denied for each in orders)


def test_last_trades_are_read_in_one_request_and_a_lost_answer_is_no_price() -> None:
    with FakeAlpaca(VenueOptions(symbols=("SPY", "BRK.B")), FaultPlan()) as fake:
        fake.do(quotes={"SPY": [100, 100.2], "BRK.B": [400, 400]})
        prices = AlpacaPrices(CREDENTIALS, settings_of(fake), Clock())
        assert prices.last(["SPY", "BRK-B", "QQQ"]) == {"SPY": 100.1, "BRK-B": 400.0}
        fake.do(faults={"next": [{"operation": "data", "fault": "502_html"}]})
        with pytest.raises(BrokerUnavailableError, match="what symbols trade at"):
            prices.last(SYMBOLS)
        prices.close()
