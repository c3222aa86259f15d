"""Facts of bars and hours: which symbols move together, half days, and whose day it is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np

from tradingbot.domain.timeframe import BarGrid
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.facts import MarketFacts

HOURS = ExchangeHours("XNYS", "1h", BarGrid.SESSION, date(2025, 11, 24), date(2025, 12, 5))


def test_symbols_that_move_together_are_found_and_others_are_not() -> None:
    facts, rng = MarketFacts(["A", "TWIN", "OTHER"]), np.random.default_rng(0)
    prices, volume, there = np.full(3, 100.0), np.ones(3), np.ones(3)
    at = datetime(2025, 12, 1, 15, tzinfo=UTC)
    for hour in range(60):
        if hour == 10:  # too few bars to say
            assert facts.correlated_with(0).tolist() == [True, False, False]
        own, other = rng.normal(0.0, 0.01, 2)
        prices = prices * (1.0 + np.array([own, own, other]))
        facts.take(at + timedelta(hours=hour), at.date(), prices, volume, there)

    assert facts.correlated_with(0).tolist() == [True, True, False]
    assert facts.correlated_with(2).tolist() == [False, False, True]


def test_half_day_closes_at_one_in_new_york() -> None:
    half = datetime(2025, 11, 28, 18, tzinfo=UTC)  # the day after Thanksgiving
    before, after = (HOURS.clock(half + timedelta(minutes=each)) for each in (-1, 1))

    assert (before.is_open, before.next_close) == (True, half)
    assert (after.is_open, after.next_open) == (False, datetime(2025, 12, 1, 14, 30, tzinfo=UTC))
    assert HOURS.clock(half).is_open is False
    whole = HOURS.clock(datetime(2025, 12, 1, 20, 59, tzinfo=UTC))
    assert (whole.is_open, whole.next_close) == (True, datetime(2025, 12, 1, 21, tzinfo=UTC))


def test_day_is_that_of_the_exchange() -> None:
    assert HOURS.day_of(datetime(2025, 12, 2, 3, tzinfo=UTC)) == date(2025, 12, 1)
    assert HOURS.day_of(datetime(2025, 12, 2, 15, tzinfo=UTC)) == date(2025, 12, 2)
