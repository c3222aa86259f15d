"""Sizing: large positions in a drawdown."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("exposure", "drawdown", "expected"),
    [
        (1.0, 0.0, 0.0),
        (0.0, 0.5, 0.0),
        (1.0, 0.075, -0.5),
        (0.4, 0.075, -0.2),
        (1.3, 0.9, -1.0),
    ],
)
def test_penalty_is_size_times_drawdown(exposure: float, drawdown: float, expected: float) -> None:
    assert term_of("sizing", exposure=exposure, drawdown=drawdown) == pytest.approx(expected)
