"""Market orders of sessions against what the venue trades at, and quotes, when they are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from fixtures.replayed_sessions import FIRST, NAME, SYMBOLS, open_session
from fixtures.session_orders import known, quiet_gate, sale, wanted
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.denial import SessionDenial
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderType
from tradingbot.domain.quote import Quote
from tradingbot.risk.gate import OrderDenial
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.brokers.alpaca.last_prices import AlpacaPrices
from tradingbot.runtime.session.desk import Desk

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


@pytest.mark.parametrize(
    ("quote", "code"),
    [
        (Quote(99.0, 101.0), ""),  # 2 %, the limit
        (Quote(98.9, 101.0), "QUOTE_WIDE"),
        (Quote(100.0, 100.0), "QUOTE_CROSSED"),  # locked
        (Quote(100.1, 100.0), "QUOTE_CROSSED"),
        *((Quote(0.0, 100.0), "QUOTE_CROSSED"), (Quote(100.0, 0.0), "QUOTE_CROSSED")),
        *((Quote(math.nan, 100.0), "QUOTE_CROSSED"), (None, "QUOTE_CROSSED")),
    ],
)
def test_D30_no_market_order_meets_a_crossed_or_a_wide_quote(
    tmp_path: Path, quote: Quote | None, code: str
) -> None:
    found, n_asked = _denials_of(tmp_path, quote)

    assert n_asked == 1  # all symbols of a bar at once
    assert found == {code}


@pytest.mark.parametrize(
    ("age_s", "code"),
    [
        *((0.0, ""), (60.0, ""), (60.1, "QUOTE_OLD"), (3600.0, "QUOTE_OLD")),
        *((-1.0, ""), (-60.1, "QUOTE_OLD"), (None, "QUOTE_OLD")),
    ],
)
def test_D30_no_market_order_meets_a_quote_of_long_ago_or_of_no_known_time(
    tmp_path: Path, age_s: float | None, code: str
) -> None:
    assert _denials_of(tmp_path, Quote(99.9, 100.1), age_s)[0] == {code}


def _denials_of(
    tmp_path: Path, quote: Quote | None, age_s: float | None = 0.0
) -> tuple[set[str], int]:
    """Return codes of the denials of a bar's orders, and how often quotes were asked for."""
    limits = replace(WIDEST_SESSION_LIMITS, max_spread_frac=0.02, max_quote_age_s=60.0)
    opened = open_session(tmp_path, stop=FIRST + 3, session_limits=limits)
    desk = opened.session.desk
    asked: list[Sequence[str]] = []

    def quotes(symbols: Sequence[str]) -> Mapping[str, Quote]:
        asked.append(symbols)
        if quote is None:
            return {}
        now = desk.broker.clock().now
        at = None if age_s is None else now - timedelta(seconds=age_s)
        return dict.fromkeys(symbols, replace(quote, at=at))

    desk.quotes = quotes
    _show_hours(desk, is_open=True)
    opened.run(FIRST + 1)
    orders = [each for each in opened.journal.orders(NAME) if "own account" not in str(each.reason)]
    opened.close()
    assert orders
    return {(each.reason or "").split(":")[0] for each in orders}, len(asked)


def _show_hours(desk: Desk, *, is_open: bool) -> None:
    """Let the venue say that its market is open, or closed."""
    clock = desk.broker.clock
    shown = mock.Mock(side_effect=lambda: replace(clock(), is_open=is_open))
    desk.broker.clock = shown  # type: ignore[method-assign]


def test_D30_order_with_a_limit_passes_whatever_is_quoted() -> None:
    crossed = {"quote_is_crossed": True, "spread_frac": -0.5, "quote_age_s": 1e5}
    market = quiet_gate().judge(wanted(), known(**crossed))
    limit = {"order_type": OrderType.LIMIT, "limit_price": Decimal("100.00")}

    assert isinstance(market, OrderDenial)
    assert market.code is SessionDenial.QUOTE_CROSSED
    assert isinstance(quiet_gate().judge(wanted(**limit), known(**crossed)), Approval)


@pytest.mark.parametrize(
    "quote", [(True, -0.5, 0.0), (False, 0.5, 0.0), (False, 0.001, 1e5), (None, None, None)]
)
def test_D30_what_only_reduces_passes_whatever_is_quoted(
    quote: tuple[bool | None, float | None, float | None],
) -> None:
    names = ("quote_is_crossed", "spread_frac", "quote_age_s")
    shown = dict(zip(names, quote, strict=True))
    held = {"held_units": 10.0, "entry_price": 100.0}

    assert isinstance(quiet_gate().judge(sale(), known(**held, **shown)), Approval)
    assert isinstance(quiet_gate().judge(wanted(), known(**shown)), OrderDenial)


def test_D30_quotes_of_a_closed_market_are_not_asked_for(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=FIRST + 3, session_limits=WIDEST_SESSION_LIMITS)
    desk = opened.session.desk
    _show_hours(desk, is_open=False)

    def quotes(symbols: Sequence[str]) -> Mapping[str, Quote]:
        raise AssertionError("an order that waits for the opening meets another quote")

    desk.quotes = quotes
    opened.run(FIRST + 1)
    orders = opened.journal.orders(NAME)
    opened.close()

    assert any(each.reason is None for each in orders)


def test_D30_last_quotes_are_read_and_a_lost_answer_is_no_quote() -> None:
    with FakeAlpaca(VenueOptions(symbols=("SPY", "BRK.B")), FaultPlan()) as fake:
        at = datetime(2026, 1, 5, 15, 0, tzinfo=UTC)
        fake.do(time="2026-01-05T15:00:00Z")
        fake.do(quotes={"SPY": [100, 100.2], "BRK.B": [400.1, 400, 90]})
        prices = AlpacaPrices(CREDENTIALS, settings_of(fake), Clock())
        found = prices.quotes(["SPY", "BRK-B", "QQQ"])
        old = Quote(400.1, 400.0, at - timedelta(seconds=90))
        assert found == {"SPY": Quote(100.0, 100.2, at), "BRK-B": old}
        assert [each.is_crossed for each in found.values()] == [False, True]
        fake.do(faults={"next": [{"operation": "data", "fault": "502_html"}]})
        with pytest.raises(BrokerUnavailableError, match="what symbols trade at"):
            prices.quotes(SYMBOLS)
        prices.close()


def test_last_trades_are_read_in_one_request_and_a_lost_answer_is_no_price() -> None:
    with FakeAlpaca(VenueOptions(symbols=("SPY", "BRK.B")), FaultPlan()) as fake:
        fake.do(quotes={"SPY": [100, 100.2], "BRK.B": [400, 400]})
        prices = AlpacaPrices(CREDENTIALS, settings_of(fake), Clock())
        assert prices.last(["SPY", "BRK-B", "QQQ"]) == {"SPY": 100.1, "BRK-B": 400.0}
        fake.do(faults={"next": [{"operation": "data", "fault": "502_html"}]})
        with pytest.raises(BrokerUnavailableError, match="what symbols trade at"):
            prices.last(SYMBOLS)
        prices.close()
