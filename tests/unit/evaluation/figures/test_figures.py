"""Every picture shows the numbers it was given, under the words a reader needs."""

from __future__ import annotations

import builtins

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.figures.coverage import draw_coverage, draw_coverage_table
from tradingbot.evaluation.figures.style import new_figure
from tradingbot_benchmarks.figures.scaling_curve import ScalingPoint, draw_scaling

TIMES = np.datetime64("2024-01-02", "us") + np.arange(6) * np.timedelta64(1, "D")


def tick_texts(labels: object) -> list[str]:
    return [label.get_text() for label in labels]  # type: ignore[attr-defined]


def test_new_figure_has_the_axes_asked_for_without_a_box() -> None:
    figure = new_figure(6, 3, rows=2, columns=2)

    assert isinstance(figure, Figure)
    assert len(figure.axes) == 4
    assert tuple(figure.get_size_inches()) == (6, 3)
    assert not figure.axes[0].spines["top"].get_visible()


def test_new_figure_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *rest: object, **options: object) -> object:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(MissingExtraError, match="make install EXTRA=plot"):
        new_figure(1, 1)


def test_coverage_shows_every_fraction_and_label() -> None:
    fractions = np.array([[1.0, 0.95], [0.5, np.nan], [1.0, 1.0]])

    figure = draw_coverage(["A", "B", "C"], ["2024-01", "2024-02"], fractions, title="Mine")

    axes = figure.axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, fractions)
    assert axes.images[0].get_clim() == (0.9, 1.0)
    assert axes.get_title() == "Mine"
    assert tick_texts(axes.get_yticklabels()) == ["A", "B", "C"]
    assert tick_texts(axes.get_xticklabels()) == ["2024-01", "2024-02"]


def test_coverage_of_many_symbols_labels_only_some() -> None:
    symbols = [f"S{number:03d}" for number in range(200)]

    figure = draw_coverage(symbols, ["2024-01"], np.ones((200, 1)), title="")

    labels = tick_texts(figure.axes[0].get_yticklabels())
    assert labels == symbols[::3]
    assert figure.get_size_inches()[1] == 8.5


def test_coverage_table_draws_nulls_as_absent() -> None:
    table = pl.DataFrame(
        {"symbol": ["A", "B"], "2024-01": [0.9, None], "2024-02": [None, None]},
        schema={"symbol": pl.String, "2024-01": pl.Float64, "2024-02": pl.Float64},
    )

    axes = draw_coverage_table(table, title="t").axes[0]

    shown = axes.images[0].get_array()
    assert isinstance(shown, np.ma.MaskedArray)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), [[False, True], [True, True]])
    assert shown[0, 0] == 0.9
    assert tick_texts(axes.get_xticklabels()) == ["2024-01", "2024-02"]


def test_scaling_curve_is_sorted_and_has_a_linear_line() -> None:
    measured = [
        ScalingPoint("hourly", 1e6, {"generate": 1.0, "features": 2.0}, 1e9),
        ScalingPoint("hourly", 4e6, {"generate": 8.0, "features": 5.0}, 3e9),
        ScalingPoint("hourly", 2e6, {"generate": 3.0, "features": 3.0}, 1.5e9),
        ScalingPoint("daily", 2e6, {"generate": 2.5, "features": 3.5}, 1.6e9),
    ]

    times, memory = draw_scaling(measured, title="Seconds (synthetic)").axes

    lines = {line.get_label(): line for line in times.lines}
    np.testing.assert_array_equal(lines["generate, hourly"].get_xdata(), [1e6, 2e6, 4e6])
    np.testing.assert_array_equal(lines["generate, hourly"].get_ydata(), [1.0, 3.0, 8.0])
    np.testing.assert_array_equal(lines["features, daily"].get_ydata(), [3.5])
    dashed = [line.get_ydata() for line in times.lines if line.get_linestyle() == "--"]
    np.testing.assert_array_equal(dashed, [[1.0, 4.0], [2.0, 8.0]])
    assert (times.get_xscale(), times.get_yscale(), times.get_title()) == (
        "log",
        "log",
        "Seconds (synthetic)",
    )
    np.testing.assert_array_equal(memory.lines[0].get_ydata(), [1.0, 1.5, 3.0])
    assert memory.get_ylabel() == "GB"
