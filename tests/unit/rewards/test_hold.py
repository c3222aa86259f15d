"""HOLD: a price per step, by whether the position wins."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("code", "held", "roi", "expected"),
    [
        (0, 1, 0.02, -0.01),
        (0, 1, -0.02, -0.005),
        (0, 1, 0.0, -0.005),
        (0, 0, 0.0, 0.0),
        (5, 1, 0.02, 0.0),
        (4, 1, -0.02, 0.0),
    ],
)
def test_price_of_hold(code: int, held: int, roi: float, expected: float) -> None:
    value = term_of("hold", code=code, held_before=held, open_roi_before=roi)
    assert value == pytest.approx(expected)
