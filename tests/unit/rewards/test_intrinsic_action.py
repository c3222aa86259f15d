"""Intrinsic action reward: novelty of what was done, price of what could not be."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("voluntary", "novelty", "violation", "expected"),
    [(1, 1.0, 0, 1.0), (1, 0.04, 0, 0.04), (0, 1.0, 0, 0.0), (0, 1.0, 1, -1.0), (1, 1.0, 1, -1.0)],
)
def test_novelty_of_a_voluntary_trade(
    voluntary: int, novelty: float, violation: int, expected: float
) -> None:
    value = term_of("intrinsic_action", voluntary=voluntary, novelty=novelty, violation=violation)
    assert value == pytest.approx(expected)


def test_price_of_a_violation_is_an_option() -> None:
    assert term_of("intrinsic_action", {"violation_price": 0.0}, violation=1.0) == 0.0
