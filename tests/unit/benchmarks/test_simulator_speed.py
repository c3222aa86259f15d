"""The picture of the simulator's speed shows the curves, the bound and the peers it was given."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex

from tradingbot.evaluation.figures.style import RED
from tradingbot_benchmarks.figures.simulator_speed import SpeedCurves, draw_simulator_speed

CURVES = SpeedCurves(
    environments={
        "compiled": [(64, 6e5), (4096, 1e7)],
        "eager": [(64, 2e4), (4096, 1.2e6)],
        "GPU": [(4096, 3e7), (65_536, 4e8)],
    },
    bound=[(64, 5e6), (4096, 5e7)],
    peers={"gym-anytrading": 2.5e5},
    windows=[(1, 9e6), (24, 4e6)],
    symbols=[(1, 1.1e7), (143, 1e7)],
)


def test_curves_bound_and_peers_are_drawn_as_given() -> None:
    left, right = draw_simulator_speed(CURVES).axes

    lines = {line.get_label(): line for line in left.lines}
    np.testing.assert_array_equal(lines["GPU"].get_ydata(), [3e7, 4e8])
    np.testing.assert_array_equal(lines["memory bound"].get_xdata(), [64, 4096])
    assert to_hex(lines["memory bound"].get_color()).upper() == RED
    assert [text.get_text() for text in left.texts] == ["gym-anytrading"]
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert "synthetic" in left.get_title()
    assert len(right.lines) == 2


def test_axes_are_labelled_at_the_measured_places() -> None:
    left, right = draw_simulator_speed(CURVES).axes

    assert [label.get_text() for label in left.get_xticklabels()] == ["64", "4,096", "65,536"]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "24", "143"]


def test_curves_without_points_are_left_out() -> None:
    left, right = draw_simulator_speed(SpeedCurves({"eager": [(64, 1e4)]})).axes

    assert [line.get_label() for line in left.lines] == ["eager"]
    assert not right.lines
    assert right.get_legend() is None
