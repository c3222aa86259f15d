"""Windowed and elementwise operations against the plainest possible formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.domain.seeding import stream
from tradingbot.features.graph.operations import ELEMENTWISE, WINDOWED

PLAIN = {
    "sum": lambda window: window.sum(axis=0),
    "deviation": lambda window: window.std(axis=0),
    "lowest": lambda window: window.min(axis=0),
    "highest": lambda window: window.max(axis=0),
    "percentile": lambda window: (window[:-1] < window[-1]).mean(axis=0),
    "matching_mean": lambda window: [_mean_of_same_sign(column) for column in window.T],
}


def _mean_of_same_sign(column: np.ndarray) -> float:
    same = column[:-1][np.sign(column[:-1]) == np.sign(column[-1])]
    return float(same.mean()) if len(same) else 0.0


def window_values(function: str, rows: np.ndarray, bars: int) -> np.ndarray:
    out = np.empty((len(rows) - bars + 1, rows.shape[1]))
    keys = (np.sign(rows),) if function == "matching_mean" else ()
    WINDOWED[function](rows, *keys, bars, out)
    return out


def test_every_window_function_has_a_plain_formula() -> None:
    assert set(PLAIN) == set(WINDOWED)


@pytest.mark.parametrize("function", sorted(WINDOWED))
@settings(max_examples=30, deadline=None)
@given(bars=st.integers(2, 70), extra=st.integers(1, 40), seed=st.integers(0, 99))
def test_window_function_equals_the_plain_formula(
    function: str, bars: int, extra: int, seed: int
) -> None:
    rows = np.round(stream(seed, "rows").normal(size=(bars + extra - 1, 3)), 1)

    values = window_values(function, rows, bars)

    plain = [PLAIN[function](rows[start : start + bars]) for start in range(extra)]
    np.testing.assert_allclose(values, plain, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("function", sorted(WINDOWED))
@pytest.mark.parametrize("bars", [2, 3, 14, 20, 24, 50, 168, 300])
def test_window_function_row_by_row_gives_the_same_bits(function: str, bars: int) -> None:
    rows = stream(1, "bits").normal(100.0, 1.0, (bars + 60, 5))

    values = window_values(function, rows, bars)

    single = [window_values(function, rows[i : i + bars], bars) for i in range(len(values))]
    assert values.tobytes() == np.concatenate(single).tobytes()


@pytest.mark.parametrize("function", sorted(WINDOWED))
def test_window_function_is_undefined_only_where_the_window_is(function: str) -> None:
    rows = stream(2, "undefined").normal(size=(60, 2))
    rows[:7] = np.nan

    defined = ~np.isnan(window_values(function, rows, 20))

    assert defined[:, 0].tolist() == [start >= 7 for start in range(41)]


def test_deviation_of_a_constant_window_is_exactly_zero() -> None:
    rows = np.full((50, 4), [0.1, 1e-4, 1e6 / 3, 7.7])

    assert not window_values("deviation", rows, 20).any()


def test_deviation_beside_a_large_mean_keeps_its_digits() -> None:
    rows = 1e9 + stream(3, "large").normal(size=(20, 2))

    values = window_values("deviation", rows, 20)

    np.testing.assert_allclose(values[0], (rows - 1e9).std(axis=0), rtol=1e-6)


def test_percentile_counts_more_than_a_byte_holds() -> None:
    rows = np.arange(600.0)[:, None]

    assert (window_values("percentile", rows, 400) == 1.0).all()


def elementwise(function: str, *arguments: object) -> list[float]:
    arrays = [np.array(a, dtype=float) if isinstance(a, list) else a for a in arguments]
    out = np.empty(len(arrays[0]))  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        ELEMENTWISE[function](*arrays, out=out)
    return out.tolist()


def test_divide_or_by_zero_gives_the_stated_value_but_keeps_nan() -> None:
    values = elementwise("divide_or", [1.0, 0.0, np.nan, 6.0], [0.0, 0.0, 0.0, 2.0], 0.5)

    np.testing.assert_array_equal(values, [0.5, 0.5, np.nan, 3.0])


def test_log_ratio_with_a_zero_is_zero_but_keeps_nan() -> None:
    values = elementwise("log_ratio", [0.0, 2.0, 0.0, np.nan, 4.0], [1.0, 0.0, 0.0, 0.0, 4.0])

    np.testing.assert_array_equal(values, [0.0, 0.0, 0.0, np.nan, 0.0])


def test_squash_stays_inside_one() -> None:
    values = elementwise("squash", [-1e9, -1.0, 0.0, 1.0, 1e9])

    np.testing.assert_allclose(values, [-1.0, -(0.5**0.5), 0.0, 0.5**0.5, 1.0])


def test_only_where_gives_nan_elsewhere() -> None:
    np.testing.assert_array_equal(
        elementwise("only_where", [1.0, 2.0, np.nan], [1.0, 0.0, 1.0]), [1.0, np.nan, np.nan]
    )
