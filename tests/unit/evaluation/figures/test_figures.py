"""Every picture shows the numbers it was given, under the words a reader needs."""

from __future__ import annotations

import base64
import builtins
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.figures.coverage import draw_coverage, draw_coverage_table
from tradingbot.evaluation.figures.facts import draw_facts
from tradingbot.evaluation.figures.feature_map import draw_feature_map
from tradingbot.evaluation.figures.known_answers import AnswerBar, draw_known_answers
from tradingbot.evaluation.figures.prices import draw_prices
from tradingbot.evaluation.figures.style import (
    BLUE,
    GREY,
    REGIME_COLOURS,
    as_data_uri,
    new_figure,
)
from tradingbot.evaluation.stylised_facts import Fact, StylisedFacts
from tradingbot_benchmarks.figures.scaling_curve import ScalingPoint, draw_scaling

TIMES = np.datetime64("2024-01-02", "us") + np.arange(6) * np.timedelta64(1, "D")


def facts(value: float) -> StylisedFacts:
    same = Fact(value, 0.5 * value, 1.5 * value)
    return StylisedFacts(**{field.name: same for field in fields(StylisedFacts)})


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


def test_as_data_uri_is_a_png_of_the_figures_size() -> None:
    uri = as_data_uri(new_figure(4, 2), dots_per_inch=50)

    kind, _, content = uri.partition(",")
    data = base64.b64decode(content, validate=True)
    assert kind == "data:image/png;base64"
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (200, 100)


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


def test_prices_are_rebased_at_the_first_bar_that_is_there() -> None:
    closes = {"A": np.array([50.0, 55, 60, 60, 60, 60]), "B": np.array([np.nan, 4, 2, 4, 8, 4])}

    axes = draw_prices(TIMES, closes, title="Synthetic closes").axes[0]

    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["A"], [100, 110, 120, 120, 120, 120])
    np.testing.assert_allclose(lines["B"], [np.nan, 100, 50, 100, 200, 100])
    assert axes.get_yscale() == "log"
    assert axes.get_title() == "Synthetic closes"


def test_prices_shade_each_spell_of_a_regime_and_name_it_once() -> None:
    regimes = np.array([0, 0, 1, 1, 0, 0])
    names = tuple(REGIME_COLOURS)

    axes = draw_prices(
        TIMES, {"A": np.ones(6)}, title="t", regimes=regimes, regime_names=names
    ).axes[0]

    assert [to_hex(patch.get_facecolor()).upper() for patch in axes.patches] == [
        REGIME_COLOURS[names[index]].upper() for index in (0, 1, 0)
    ]
    legend = axes.get_legend()
    assert legend is not None
    assert tick_texts(legend.get_texts()) == ["A", f"regime: {names[0]}", f"regime: {names[1]}"]


def test_facts_are_in_units_of_the_real_median() -> None:
    axes = draw_facts(facts(3.0), facts(2.0), title="t", real_label="real").axes[0]

    rows = len(fields(StylisedFacts))
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(points) == 2 * rows
    blue = {float(p.get_xdata()[0]) for p in points if p.get_color() == BLUE}  # type: ignore[index]
    grey = {float(p.get_xdata()[0]) for p in points if p.get_color() == GREY}  # type: ignore[index]
    assert (blue, grey) == ({1.5}, {1.0})
    assert tick_texts(axes.get_yticklabels())[0] == "annual volatility"
    spans = [line for line in axes.lines if len(line.get_xdata()) == 2][:2]
    np.testing.assert_allclose(spans[0].get_xdata(), [0.5, 1.5])
    np.testing.assert_allclose(spans[1].get_xdata(), [0.75, 2.25])


@pytest.mark.parametrize("side", ["synthetic", "real"])
def test_facts_that_are_missing_on_a_side_are_left_out(side: str) -> None:
    nan = Fact(float("nan"), float("nan"), float("nan"))
    whole, holed = facts(2.0), replace(facts(2.0), leverage=nan, abs_acf_100=nan)
    pair = (holed, whole) if side == "synthetic" else (whole, holed)

    labels = tick_texts(draw_facts(*pair, title="t", real_label="r").axes[0].get_yticklabels())

    assert len(labels) == len(fields(StylisedFacts)) - 2
    assert "leverage" not in labels


def test_facts_with_a_real_median_of_zero_are_left_out() -> None:
    real = replace(facts(2.0), return_acf_1=Fact(0.0, -1.0, 1.0))

    axes = draw_facts(facts(1.0), real, title="t", real_label="r").axes[0]

    assert "return acf 1" not in tick_texts(axes.get_yticklabels())


def test_feature_map_is_blank_where_nothing_is_valid() -> None:
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    valid = np.array([False, False, True, True, True, True])

    figure = draw_feature_map(TIMES, features, valid, ["rsi", "macd"], title="SPY", unit="one σ")
    axes = figure.axes[0]

    shown = axes.images[0].get_array()
    assert isinstance(shown, np.ma.MaskedArray)
    assert shown.shape == (2, 6)
    assert figure.axes[1].get_ylabel() == "one σ"
    assert np.ma.getmaskarray(shown)[:, :2].all()
    np.testing.assert_array_equal(shown[:, 2:].filled(), features[2:].T)
    assert tick_texts(axes.get_yticklabels()) == ["rsi", "macd"]
    assert tick_texts(axes.get_xticklabels())[0] == "2024-01-02"
    assert tick_texts(axes.get_xticklabels())[-1] == "2024-01-07"


def test_known_answers_show_expected_bars_and_simulated_intervals() -> None:
    answers = [AnswerBar("planted", 2.25, 2.23, 2.1, 2.4), AnswerBar("noise", 0.0, -0.1, -0.3, 0.2)]

    figure = draw_known_answers(answers, title="Oracles (synthetic)")

    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [2.25, 0.0]  # type: ignore[attr-defined]
    points = next(line for line in axes.lines if line.get_marker() == "o")
    np.testing.assert_allclose(points.get_xdata(orig=False), [2.23, -0.1])
    caps = [line.get_xdata(orig=False) for line in axes.lines if line.get_marker() == "|"]
    ends = np.sort(caps, axis=0)
    np.testing.assert_allclose(ends, [[2.1, -0.3], [2.4, 0.2]])
    assert tick_texts(axes.get_yticklabels()) == ["planted", "noise"]
    assert axes.yaxis_inverted()
    assert tick_texts(figure.legends[0].get_texts())[0] == "expected (dynamic programming)"


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
