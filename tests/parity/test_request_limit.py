"""A bar of many orders under the venue's limit of requests: all of them, each once, exits first."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.killed_week import NAME, RULES, Venue, Week, open_week
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.session.bars import as_datetime

N, LIMIT = 40, 200 * 40 // 143
"""As many requests a minute for each symbol as a session of 143 has at Alpaca."""


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    return Week(tmp_path_factory.mktemp("week"), "synthetic", N, 4)


@pytest.mark.parametrize(("limit", "waits"), [(LIMIT, False), (LIMIT // 2, True)])
def test_B04_bar_of_all_symbols_keeps_within_the_limit(
    week: Week, tmp_path: Path, limit: int, waits: bool
) -> None:
    own = Week(tmp_path, "synthetic", N, 4)
    own.__dict__.update({"inputs": week.inputs, "models": week.models, "hours": week.hours})
    symbols, slept = week.inputs.symbols, [0.0]
    cash = Decimal(N * RULES.account.initial_cash_ccy)
    options = VenueOptions(
        symbols=symbols, fills="at_next_open", start_cash=cash, partial_share=0.0
    )
    with FakeAlpaca(options, FaultPlan(requests_per_minute=limit)) as fake:
        fake.do(time=as_datetime(week.inputs.closed_at[week.warm_up - 1]).isoformat())

        def sleep(seconds: float) -> None:
            slept[0] += seconds
            fake.venue.clock.set_to = fake.venue.clock.now() + timedelta(seconds=seconds)

        clock = Clock(sleep=sleep, monotonic=lambda: fake.venue.clock.now().timestamp())
        lanes = {"requests_per_minute": limit, "reserved_for_cancels": 5, "single_assets": 3}
        session, close = open_week(own, Venue(fake.url), clock, **lanes, longest_wait_s=60.0)
        for bar in session.source.bars():
            assert bar is not None
            session.take(bar, bar.closed_at)
        orders, state = session.desk.journal.orders(NAME), fake.state()
        close()

    sent: dict[object, list[str]] = defaultdict(list)
    decided = {each.client_order_id: each.intent.decided_at for each in orders}
    for row in state["orders"]:
        sent[decided[row["client_order_id"]]].append(row["side"])
    assert max(map(len, sent.values())) > 0.6 * N
    assert any(len(set(sides)) == 2 for sides in sent.values())
    assert all(sides == sorted(sides, reverse=True) for sides in sent.values())  # sells first
    assert len(state["orders"]) == len({row["client_order_id"] for row in state["orders"]})
    approved = [each for each in orders if "own account" not in (each.reason or "")]
    assert len(state["orders"]) == len(approved)
    assert {each.status for each in approved} <= {OrderStatus.FILLED, OrderStatus.ACCEPTED}
    n_requests = sum(state["requests"].values())
    assert (slept[0] > 60.0) if waits else (slept[0] == 0.0)
    assert n_requests < len(approved) + 15 * len(sent)
