"""Over a slow line: its time is no difference of clocks, and no order leaves that is too late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.replayed_sessions import (
    COSTS,
    FIRST,
    NAME,
    RULES,
    N,
    hours,
    join_session,
    market,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS, SessionLimits
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.brokers.protocol import BrokerClock
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.venue_facts import measure_skew

AT = datetime(2026, 1, 5, 15, tzinfo=UTC)
QUESTIONS = (
    *("drain_updates", "fills", "find_orders", "open_orders", "positions"),
    *("account", "assets", "submit"),
)


class DistantBroker(PaperBroker):
    """A broker that every question takes a while to reach, with a clock of its own."""

    latency_s, ahead_s, time = 0.0, 0.0, AT

    def wait(self) -> None:
        self.time += timedelta(seconds=self.latency_s)

    def clock(self) -> BrokerClock:
        self.wait()
        now = self.time + timedelta(seconds=self.ahead_s)
        return BrokerClock(now, True, now + timedelta(days=1), now + timedelta(hours=3))


def slowly(name: str) -> Callable[..., Any]:
    def ask(self: DistantBroker, *args: Any, **options: Any) -> Any:
        self.wait()
        return getattr(PaperBroker, name)(self, *args, **options)

    return ask


for each in QUESTIONS:
    setattr(DistantBroker, each, slowly(each))


def trade(folder: Path, latency_s: float, ahead_s: float) -> tuple[Order, ...]:
    """Trade three bars over a line, and return the orders."""
    options = replace(PaperOptions(), cash_ccy=N * RULES.account.initial_cash_ccy)
    path = folder / "venue.sqlite"
    broker = DistantBroker(path, RULES, COSTS, options, clock=hours().clock)
    broker.latency_s, broker.ahead_s = latency_s, ahead_s
    terms = SessionTerms(RULES, COSTS, FIRST)
    limits = replace(WIDEST_SESSION_LIMITS, max_clock_skew_s=SessionLimits().max_clock_skew_s)
    opened = join_session(folder, broker, None, market(), terms, session_limits=limits)
    opened.session.clock = lambda: broker.time
    for bar in opened.session.source.bars():
        if bar.number == FIRST + 3:
            break
        broker.time = bar.closed_at + timedelta(seconds=2)
        broker.pass_time(broker.time)
        opened.session.take(bar, broker.time)
    orders = opened.journal.orders(NAME)
    opened.close()
    assert orders
    return orders


def reasons(orders: tuple[Order, ...]) -> set[str]:
    return {(order.reason or "").partition(":")[0] for order in orders} - {""}


def test_B26_slow_line_is_no_skew_and_a_wrong_clock_is(tmp_path: Path) -> None:
    for name, latency_s, ahead_s, denied in (
        ("equal", 0.2, 0.0, set[str]()),
        ("slow", 3.0, 0.0, set[str]()),
        ("ahead", 0.2, 1.5, {"CLOCK_SKEW"}),
        ("behind", 0.2, -1.5, {"CLOCK_SKEW"}),
    ):
        (tmp_path / name).mkdir()
        assert reasons(trade(tmp_path / name, latency_s, ahead_s)) == denied, name


def test_orders_of_a_bar_that_is_not_fresh_any_more_are_withdrawn(tmp_path: Path) -> None:
    orders = trade(tmp_path, latency_s=21.0, ahead_s=0.0)
    first = [each for each in orders if each.intent.decided_at == orders[0].intent.decided_at]
    statuses = [each.status for each in first]

    # Clock, positions, account and assets take 84 s and 2: one is sent within the 90.
    assert statuses.count(OrderStatus.CANCELLED) == len(first) - 1 == 2


@pytest.mark.parametrize(
    ("told_s", "skew_s"), [(-2.0, 2.0), (0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.5, -0.5)]
)
def test_skew_is_what_the_time_of_the_line_does_not_explain(told_s: float, skew_s: float) -> None:
    told = AT + timedelta(seconds=told_s)

    assert measure_skew(AT, told, AT + timedelta(seconds=1)) == skew_s
