"""A million points as four thousand: no spike is lost, gaps stay gaps."""

from __future__ import annotations

import json
from base64 import b64decode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tradingbot.monitoring.dashboard.figures.curves import draw_curves
from tradingbot.monitoring.dashboard.figures.downsample import COLUMNS, pick_points
from tradingbot.monitoring.dashboard.figures.equity import draw_equity
from tradingbot.monitoring.dashboard.figures.heat_map import HeatScale, draw_heat_map
from tradingbot.monitoring.dashboard.figures.style import add_line, blank_figure
from tradingbot.monitoring.dashboard.moments import UTC_ZONE
from tradingbot.monitoring.dashboard.palette import palette_of
from tradingbot.monitoring.dashboard.sources.session_view import EquitySeries

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


def test_picture_of_a_million_bars_holds_both_extremes_to_the_bit() -> None:
    at = np.datetime64("2024-01-02T15:30", "us") + np.arange(1_000_000) * np.timedelta64(1, "h")
    numbers = 1e6 + np.cumsum(np.random.default_rng(1).normal(0.0, 50.0, len(at)))
    numbers[333_333], numbers[777_777] = numbers.max() + 0.1, numbers.min() - 0.1
    drawn = draw_equity(EquitySeries(at, numbers), None, palette_of("light"), UTC_ZONE).figure

    (sent,) = json.loads(drawn.to_json())["data"]  # as it travels to the browser
    shown = np.frombuffer(b64decode(sent["y"]["bdata"]), sent["y"]["dtype"])
    assert len(shown) <= 4 * COLUMNS
    assert (shown.min(), shown.max()) == (numbers[777_777], numbers[333_333])


def test_what_is_no_number_is_a_gap_of_the_line() -> None:
    numbers = {"loss": [1.0, float("inf"), 2.0, float("nan"), 3.0]}
    drawn = draw_curves([0, 1, 2, 3, 4], numbers, palette_of("dark"), y="loss").figure

    np.testing.assert_array_equal(drawn.data[0].y, [1.0, np.nan, 2.0, np.nan, 3.0])


def test_single_spike_in_a_million_points_survives() -> None:
    numbers = np.zeros(1_000_000)
    numbers[654_321], numbers[123_456] = 7.0, -3.0

    places = pick_points(numbers)

    assert len(places) <= 4800
    assert {654_321, 123_456} <= set(places.tolist())


@pytest.mark.parametrize("numbers", [[], [1.0], [np.nan], [np.inf, 1.0, -np.inf]])
def test_few_points_all_stay(numbers: list[float]) -> None:
    assert pick_points(np.array(numbers)).tolist() == list(range(len(numbers)))


def test_curve_of_one_number_is_flat_not_its_rounding() -> None:
    steps, palette = list(range(6)), palette_of("light")
    noise = [0.05, 0.05 + 1e-17, 0.05 - 7e-18, 0.05, 0.05 + 7e-18, 0.05]

    flat = draw_curves(steps, {"entropy": noise}, palette, y="entropy").figure
    moving = draw_curves(steps, {"entropy": [0.05, 0.06]}, palette, y="entropy").figure
    nothing = draw_curves([], {"entropy": []}, palette, y="entropy").figure

    assert flat.layout.yaxis.range == pytest.approx((0.045, 0.055))
    assert moving.layout.yaxis.range is None
    assert nothing.layout.yaxis.range is None


@pytest.mark.parametrize(
    ("numbers", "mode"),
    [
        ([1.0, np.nan, 2.0], "lines+markers"),
        ([1.0, 2.0, np.nan, 3.0, 4.0], "lines"),
        ([5.0], "lines+markers"),
    ],
)
def test_point_between_gaps_is_a_mark(numbers: list[float], mode: str) -> None:
    figure = blank_figure(palette_of("light"))
    add_line(figure, np.arange(len(numbers)), np.array(numbers), "a", "#000")

    assert figure.data[0].mode == mode


def test_heat_map_writes_numbers_only_where_they_fit() -> None:
    scale, palette = HeatScale("x", "y", "u", "+.1f"), palette_of("light")
    few, many = (
        draw_heat_map(np.full((1, n), -1.0), ["-1 … 1"], ["c"] * n, scale, palette).figure
        for n in (24, 25)
    )

    assert few.data[0].texttemplate == "%{text}"
    assert few.data[0].text[0][0] == "−1.0"
    assert few.layout.yaxis.ticktext == ("−1 … 1",)
    assert not many.data[0].texttemplate
