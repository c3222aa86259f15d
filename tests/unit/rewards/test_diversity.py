"""Diversity: a bonus for the number of different actions."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("distinct", "expected"), [(1, 0.0), (2, 0.0), (3, 0.1), (4, 0.2), (5, 0.3), (6, 0.3), (7, 0.3)]
)
def test_bonus_of_fifty_steps_by_number_of_actions(distinct: int, expected: float) -> None:
    assert term_of("diversity", distinct_actions=distinct) * 50 == pytest.approx(expected)
