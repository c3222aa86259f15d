"""Values join a bar only if they were available when it closed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradingbot.features.inputs import CovariateEvents, join_as_of

CLOSES = np.datetime64("2024-01-02T10:00", "us") + np.arange(4) * np.timedelta64(1, "h")


def events(*rows: tuple[int, str, float]) -> CovariateEvents:
    return CovariateEvents(
        np.array([symbol for symbol, _, _ in rows], dtype=np.int64),
        np.array([f"2024-01-02T{time}" for _, time, _ in rows], dtype="datetime64[us]"),
        np.array([value for *_, value in rows]),
    )


def test_value_available_at_the_close_counts_and_one_microsecond_later_does_not() -> None:
    joined = join_as_of(events((0, "11:00", 1.0), (0, "12:00:00.000001", 2.0)), CLOSES, 1)

    np.testing.assert_array_equal(joined[:, 0], [np.nan, 1.0, 1.0, 2.0])


def test_value_from_before_the_grid_is_carried_in() -> None:
    assert join_as_of(events((1, "03:00", 0.7)), CLOSES, 2)[0, 1] == 0.7


def test_value_after_the_grid_is_not_used() -> None:
    assert np.isnan(join_as_of(events((0, "18:00", 0.7)), CLOSES, 1)).all()


def test_last_of_several_values_between_two_closes_counts() -> None:
    rows = events((0, "10:10", 1.0), (1, "10:15", 9.0), (0, "10:20", 2.0), (0, "10:20", 3.0))

    assert join_as_of(rows, CLOSES, 2)[1].tolist() == [3.0, 9.0]


@pytest.mark.parametrize("time", ["10:20", "11:00"])  # between two closes, and exactly on one
@pytest.mark.parametrize("values", [(1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)])
def test_of_values_available_at_the_same_moment_the_last_in_order_counts(time, values) -> None:
    rows = events(*((0, time, value) for value in values), (1, time, 9.0))

    assert join_as_of(rows, CLOSES, 2)[1].tolist() == [values[-1], 9.0]


def test_correction_to_nan_at_the_same_moment_counts() -> None:
    rows = events((0, "10:20", 1.0), (0, "10:20", float("nan")))

    assert np.isnan(join_as_of(rows, CLOSES, 1)).all()


def test_no_events_leave_everything_undefined() -> None:
    assert np.isnan(join_as_of(events(), CLOSES, 3)).all()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-90, 300)), max_size=30))
def test_join_equals_a_search_bar_by_bar(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    available_at = CLOSES[0] + np.array([m for _, m in rows], dtype="timedelta64[m]")
    symbol = np.array([s for s, _ in rows], dtype=np.int64)
    known = CovariateEvents(symbol, available_at, np.arange(len(rows), dtype=float))

    joined = join_as_of(known, CLOSES, 3)

    for t, close in enumerate(CLOSES):
        for n in range(3):
            usable = known.values[(symbol == n) & (available_at <= close)]
            expected = usable[-1] if len(usable) else np.nan
            np.testing.assert_equal(joined[t, n], expected)
