"""How time and memory grow with the amount of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]
"""(bars, seconds or bytes), any order."""


def draw_scaling(seconds: Mapping[str, Points], peak_bytes: Points, *, title: str) -> Figure:
    """Draw seconds of each stage, and peak memory, against bars on log–log axes.

    The grey line rises in proportion to the bars: what runs below it grows no worse than linearly.
    """
    figure = new_figure(10, 3.8, columns=2)
    time_axes, memory_axes = figure.axes
    for (stage, points), colour in zip(
        seconds.items(), (BLUE, ORANGE, GREEN, PURPLE), strict=False
    ):
        _draw(time_axes, points, colour, stage)
    _draw_linear(time_axes, next(iter(seconds.values())))
    time_axes.set(xlabel="bars", ylabel="seconds", title=title)
    _draw(memory_axes, [(bars, size / 1e9) for bars, size in peak_bytes], BLUE, "peak memory")
    _draw_linear(memory_axes, [(bars, size / 1e9) for bars, size in peak_bytes])
    memory_axes.set(xlabel="bars", ylabel="GB", title="Peak memory of the whole process")
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(fontsize=8)
    return figure


def _draw(axes: Axes, points: Points, colour: str, label: str) -> None:
    ordered = sorted(points)
    axes.plot(
        [x for x, _ in ordered],
        [y for _, y in ordered],
        "o-",
        color=colour,
        label=label,
        markersize=4,
    )


def _draw_linear(axes: Axes, points: Points) -> None:
    first, last = min(points), max(points)
    ends = (first[0], last[0])
    axes.plot(
        ends, [first[1] * x / first[0] for x in ends], "--", color=GREY, label="linear", linewidth=1
    )
