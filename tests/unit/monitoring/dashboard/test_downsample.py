"""A million points as four thousand: no spike is lost, gaps stay gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tradingbot.monitoring.dashboard.figures.downsample import pick_points

NUMBERS = st.floats(-1e9, 1e9) | st.just(float("nan"))


@settings(max_examples=150, deadline=None)
@given(arrays(np.float64, st.integers(0, 400), elements=NUMBERS), st.integers(1, 12))
def test_points_of_every_column_keep_its_extremes(numbers: np.ndarray, columns: int) -> None:
    places = pick_points(numbers, columns)

    assert len(places) <= max(4 * columns, len(numbers) if len(numbers) <= 4 * columns else 0)
    assert (np.diff(places) > 0).all()
    if not len(numbers):
        return
    assert places[0] == 0
    assert places[-1] == len(numbers) - 1
    width = -(-len(numbers) // columns)
    for begin in range(0, len(numbers), width):
        cell = numbers[begin : begin + width]
        kept = numbers[[p for p in places if begin <= p < begin + width]]
        if np.isfinite(cell).any():
            assert np.nanmin(kept) == np.nanmin(cell)
            assert np.nanmax(kept) == np.nanmax(cell)
        else:
            assert np.isnan(kept).all()


def test_single_spike_in_a_million_points_survives() -> None:
    numbers = np.zeros(1_000_000)
    numbers[654_321], numbers[123_456] = 7.0, -3.0

    places = pick_points(numbers)

    assert len(places) <= 4800
    assert {654_321, 123_456} <= set(places.tolist())


@pytest.mark.parametrize("numbers", [[], [1.0], [np.nan], [np.inf, 1.0, -np.inf]])
def test_few_points_all_stay(numbers: list[float]) -> None:
    assert pick_points(np.array(numbers)).tolist() == list(range(len(numbers)))
