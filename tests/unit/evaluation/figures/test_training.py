"""Pictures of training: what is drawn is what was given."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from tradingbot.evaluation.figures.training import (
    NetBar,
    TrainingCurves,
    draw_action_histogram,
    draw_learning_curves,
    draw_net_returns,
)


def test_curves_have_a_line_per_agent_and_their_mean() -> None:
    curves = TrainingCurves([10, 20], [[0.0, 2.0], [1.0, 3.0]], [0.5, 0.7])
    left, right = draw_learning_curves(curves, title="t").axes

    lines = [list(line.get_ydata()) for line in left.lines]
    assert [0.0, 1.0] in lines
    assert [2.0, 3.0] in lines
    assert [1.0, 2.0] in lines
    assert list(right.lines[0].get_ydata()) == [0.5, 0.7]


def test_histogram_is_in_percent_and_returns_have_a_row_each() -> None:
    bars = draw_action_histogram([0.25, 0.75], ["a", "b"], title="t").axes[0].patches
    assert [bar.get_height() for bar in bars] == [25.0, 75.0]

    rows = draw_net_returns([NetBar("x", 1.0, 0.5, 1.5), NetBar("y", 2.0, 1.0, 3.0)], title="t")
    assert [label.get_text() for label in rows.axes[0].get_yticklabels()] == ["x", "y"]
