"""Repeats: graded beyond three; the floor is a bound."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of
from tradingbot.rewards import reward_term


@pytest.mark.parametrize(
    ("repeats", "expected"), [(0, 0.0), (1, 0.0), (3, 0.0), (4, -0.1), (5, -0.2), (8, -0.5)]
)
def test_penalty_by_repeats(repeats: int, expected: float) -> None:
    assert term_of("repeat", repeats=repeats) == pytest.approx(expected)


def test_floor_is_a_bound() -> None:
    assert reward_term("repeat").make_options({}).bounds == (-0.5, 0.0)
    assert reward_term("repeat").make_options({"floor": -0.2}).bounds == (-0.2, 0.0)
