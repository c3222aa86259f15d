from __future__ import annotations

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.schedules import Schedule, constant


def test_linear_after_hold_meets_its_corners() -> None:
    schedule = Schedule("linear", 0.08, 0.03, hold=10_000, over=40_000)

    assert [schedule.at(s) for s in (0, 9_999, 10_000)] == [0.08, 0.08, 0.08]
    assert schedule.at(20_000) == pytest.approx(0.0675)
    assert schedule.at(50_000) == schedule.at(1_000_000) == 0.03


def test_cosine_is_slow_at_both_ends() -> None:
    schedule = Schedule("cosine", 1.0, 0.0, over=100)

    assert schedule.at(50) == pytest.approx(0.5)
    assert schedule.at(10) > 0.97
    assert schedule.at(90) < 0.03
    assert (schedule.at(0), schedule.at(100)) == (1.0, 0.0)


def test_constant_never_changes() -> None:
    assert {constant(0.2).at(s) for s in (0, 5, 10**9)} == {0.2}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"kind": "step"}, "kind must be"),
        ({"over": 0}, "over must be"),
        ({"hold": -1}, "hold must be"),
        ({"first": float("nan")}, "first must be"),
        ({"last": float("inf")}, "last must be"),
        ({"over": 1.5}, "over must be of type int"),
    ],
)
def test_schedule_that_cannot_be_followed_is_refused(fields: dict, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Schedule(**fields)
