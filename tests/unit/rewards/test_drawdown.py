"""Drawdown: free, linear, quadratic."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("drawdown", "expected"),
    [
        (0.0, 0.0),
        (0.05, 0.0),
        (0.10, -0.25),
        (0.15, -0.5),
        (0.16, -0.5 * 1.1**2),
        (0.19, -0.5 * 1.4**2),
        (0.25, -2.0),  # before it is cut
    ],
)
def test_penalty_by_depth(drawdown: float, expected: float) -> None:
    assert term_of("drawdown", drawdown=drawdown) == pytest.approx(expected)


def test_knee_can_be_moved() -> None:
    options = {"free_frac": 0.0, "knee_frac": 0.2, "knee_penalty": 0.3}
    assert term_of("drawdown", options, drawdown=0.1) == pytest.approx(-0.15)
