"""Time efficiency: quick gains, slow losses."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize(
    ("roi", "bars", "expected"),
    [
        (0.05, 0, 1.0),
        (0.05, 24, 0.5),
        (0.025, 72, 0.5 * 0.25),
        (0.50, 24, 0.5),
        (-0.05, 0, 0.0),
        (-0.05, 24, -0.5),
        (-0.025, 72, -0.5 * 0.75),
        (0.0, 10, 0.0),
    ],
)
def test_whole_exit_is_graded_by_roi_and_time(roi: float, bars: int, expected: float) -> None:
    value = term_of("time_efficiency", roi=roi, bars_held=bars, closed_frac=1.0)
    assert value == pytest.approx(expected)


def test_partial_exit_counts_its_share() -> None:
    assert term_of("time_efficiency", roi=0.05, closed_frac=0.25) == pytest.approx(0.25)


def test_open_position_earns_nothing() -> None:
    assert term_of("time_efficiency", roi=0.5, bars_held=3.0) == 0.0
