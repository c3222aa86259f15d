from __future__ import annotations

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.interval import Interval, wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (5, 10, 0.236593, 0.763407),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 1, 0.206549, 1.0),
    ],
)
def test_interval_equals_published_values(successes: int, n: int, low: float, high: float) -> None:
    found = wilson_interval(successes, n)
    assert found == pytest.approx((successes / n, low, high), abs=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 5), (float("nan"), 3)])
def test_shares_that_cannot_be_are_refused(successes: float, n: int) -> None:
    with pytest.raises(DataError, match="successes in n draws"):
        wilson_interval(successes, n)


def test_interval_covers_its_ends_and_is_scaled_whole() -> None:
    found = Interval(2.0, 1.0, 4.0)
    assert [found.covers(x) for x in (0.9, 1.0, 2.0, 4.0, 4.1)] == [False, True, True, True, False]
    assert found.scaled(3.0) == (6.0, 3.0, 12.0)


def test_ends_of_a_share_stay_within_nothing_and_all() -> None:
    for n in (1, 2, 7, 1000):
        assert wilson_interval(0, n).low == 0.0
        assert wilson_interval(n, n).high == 1.0
        assert 0.0 < wilson_interval(n, n).low < 1.0
        assert 0.0 < wilson_interval(0, n).high < 1.0
