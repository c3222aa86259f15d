from __future__ import annotations

from itertools import pairwise

import pytest

from fixtures.download_rig import HandClock
from tradingbot.data.sources.pacing import (
    Patience,
    RetryPolicy,
    TokenBucket,
    TransientFailure,
)
from tradingbot.domain.errors import ConfigError, SourceError
from tradingbot.domain.seeding import stream


def test_bucket_spaces_requests_evenly_and_forgets_idle_time() -> None:
    hand = HandClock()
    bucket = TokenBucket(120, hand.clock())
    sent = []
    for pause in (0.0, 0.0, 0.1, 30.0, 0.0):
        hand.passed_s += pause
        bucket.take()
        sent.append(hand.passed_s)
    assert sent == pytest.approx([0.0, 0.5, 1.0, 31.0, 31.5])


def test_bucket_never_lets_more_than_its_rate_through_in_any_minute() -> None:
    hand = HandClock()
    bucket = TokenBucket(200, hand.clock())
    sent = []
    for _ in range(500):
        bucket.take()
        sent.append(hand.passed_s)
    assert all(later - earlier > 59.999 for earlier, later in zip(sent, sent[200:], strict=False))


def test_bucket_with_capacity_lets_a_burst_through() -> None:
    hand = HandClock()
    bucket = TokenBucket(60, hand.clock(), capacity=3)
    for _ in range(4):
        bucket.take()
    assert hand.sleeps == pytest.approx([1.0])


@pytest.mark.parametrize(("rate", "capacity"), [(0, 1), (-1, 1), (float("nan"), 1), (60, 0)])
def test_bucket_that_lets_nothing_through_is_refused(rate: float, capacity: int) -> None:
    with pytest.raises(ConfigError):
        TokenBucket(rate, HandClock().clock(), capacity=capacity)


def test_waits_double_up_to_the_longest_with_jitter_below() -> None:
    policy = RetryPolicy(first_wait_s=1.0, longest_wait_s=8.0)
    rng = stream(0, "test")
    for failures, ceiling in enumerate([1, 2, 4, 8, 8, 8], start=1):
        waits = [policy.wait_s(failures, None, rng) for _ in range(200)]
        assert all(ceiling / 2 <= wait <= ceiling for wait in waits)
        assert max(waits) - min(waits) > ceiling / 4


def test_wait_is_never_shorter_than_asked() -> None:
    assert RetryPolicy().wait_s(1, 30.0, stream(0, "test")) == 30.0


def test_same_seed_waits_the_same() -> None:
    def waits() -> list[float]:
        hand = HandClock()
        patience = Patience(hand.clock(), stream(3, "jitter"), RetryPolicy(attempts=5))
        with pytest.raises(SourceError):
            patience.ask(fail, vendor="V", where="here")
        return hand.sleeps

    assert waits() == waits()
    assert len(waits()) == 4, "no wait after the last attempt"
    assert all(later > earlier / 2 for earlier, later in pairwise(waits()))


def fail() -> None:
    raise TransientFailure("HTTP 503")


def test_other_errors_are_not_retried() -> None:
    calls = []

    def refuse() -> None:
        calls.append(1)
        raise SourceError("no")

    with pytest.raises(SourceError, match=r"^no\.$"):
        Patience(HandClock().clock(), stream(0, "test")).ask(refuse, vendor="V", where="here")
    assert len(calls) == 1


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"first_wait_s": -1}, {"longest_wait_s": 0.5}])
def test_policy_that_cannot_work_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        RetryPolicy(**wrong)  # type: ignore[arg-type]
