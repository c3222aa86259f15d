from __future__ import annotations

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.interval import wilson_interval


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
