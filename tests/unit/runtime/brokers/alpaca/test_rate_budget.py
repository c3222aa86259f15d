"""The budget of requests: exact in every window of a minute, with a lane kept free."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.data.sources.pacing import Clock
from tradingbot.runtime.brokers.alpaca.rate_budget import Lane, RateBudget


class Timer:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 12),
    st.lists(st.tuples(st.sampled_from(Lane), st.floats(0, 30)), max_size=80),
)
def test_no_minute_holds_more_than_the_limit(limit: int, asked: list[tuple[Lane, float]]) -> None:
    timer = Timer()
    budget = RateBudget(limit, 1, timer.clock())
    sent: list[float] = []
    for lane, pause in asked:
        timer.sleep(pause)
        assert budget.take(lane, 1e9)
        sent.append(timer.now)
    for k, at in enumerate(sent):
        assert sum(each + 60 > at for each in sent[: k + 1]) <= limit


def test_B04_orders_wait_while_cancels_pass() -> None:
    timer = Timer()
    budget = RateBudget(10, 4, timer.clock())
    assert all(budget.take(Lane.ORDINARY, 0.0) for _ in range(6))
    assert not budget.take(Lane.ORDINARY, 1.0)
    assert all(budget.take(Lane.URGENT, 0.0) for _ in range(4))
    assert not budget.take(Lane.URGENT, 1.0)
    assert budget.take(Lane.ORDINARY, 100.0)
    assert timer.now >= 60.0


def test_B04_pause_of_the_venue_holds_orders_back_and_no_cancel() -> None:
    timer = Timer()
    budget = RateBudget(100, 10, timer.clock())
    budget.pause(5.0)
    assert budget.take(Lane.URGENT, 0.0)
    assert not budget.take(Lane.ORDINARY, 4.0)
    assert timer.now == 0.0, "what would take too long is not waited for"
    assert budget.take(Lane.ORDINARY, 6.0)
    assert timer.now >= 5.0
