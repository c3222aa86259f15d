"""How time and memory grow with the amount of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import BLUE, GREEN, ORANGE, PURPLE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ScalingPoint:
    """What one size of data took."""

    series: str
    """Sizes of one series are joined by a line, e.g. `hourly bars`."""
    rows: float
    """Bars and scores together."""
    seconds: Mapping[str, float]
    """Stage → wall time."""
    peak_bytes: float


def draw_scaling(measurements: Sequence[ScalingPoint], *, title: str) -> Figure:
    """Draw seconds of each stage, and peak memory, against rows of input on log–log axes.

    The dashed line rises in proportion to the rows from the first measurement: what runs below it
    grows no worse than linearly.
    """
    figure = new_figure(10, 4.0, columns=2)
    time_axes, memory_axes = figure.axes
    for stage, colour in zip(measurements[0].seconds, (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        _draw(time_axes, measurements, colour, stage, [m.seconds[stage] for m in measurements])
    time_axes.set(xlabel="bars and scores", ylabel="seconds", title=title)
    gigabytes = [m.peak_bytes / 1e9 for m in measurements]
    _draw(memory_axes, measurements, BLUE, "peak memory", gigabytes)
    memory_axes.set(xlabel="bars and scores", ylabel="GB", title="Peak memory of the whole process")
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_plain)
            axis.set_minor_formatter(_plain_if_round)
        axes.tick_params(which="minor", labelsize=7)
        axes.legend(fontsize=8)
    return figure


def _draw(
    axes: Axes,
    measurements: Sequence[ScalingPoint],
    colour: str,
    label: str,
    values: Sequence[float],
) -> None:
    for number, series in enumerate(dict.fromkeys(m.series for m in measurements)):
        points = sorted(
            (m.rows, value)
            for m, value in zip(measurements, values, strict=True)
            if m.series == series
        )
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            "oDs"[number % 3] + "-",
            color=colour,
            fillstyle="none" if number else "full",
            label=f"{label}, {series}",
            markersize=5,
        )
    ends = (measurements[0].rows, max(m.rows for m in measurements))
    rising = [values[0] * rows / ends[0] for rows in ends]
    axes.plot(ends, rising, "--", color=colour, linewidth=0.8, alpha=0.6)


def _plain_if_round(value: float, position: float) -> str:
    # Every digit of a decade would overlap its neighbour.
    return _plain(value, position) if f"{value:.0e}"[0] in "125" else ""


def _plain(value: float, _: float) -> str:
    return f"{value / 1e6:g} M" if value >= 1e5 else f"{value:g}"
