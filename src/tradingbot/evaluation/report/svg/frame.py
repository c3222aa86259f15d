"""The quiet part of a chart: grid, numbers beside the axes, names of the axes."""

from __future__ import annotations

import math

from tradingbot.evaluation.report.svg.drawing import Drawing, text_width
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale, extent, round_ticks, tick_words

TOP_PX = 24.0
BOTTOM_PX = 38.0
DATES_PX = 24.0


def draw_y_axis(
    drawing: Drawing, numbers: list[float], axis: Axis, *, bottom: float, right: float = 6.0
) -> tuple[AxisScale, float]:
    """Draw a vertical axis and its grid down to `bottom`: its scale, and the plot's left edge."""
    ticks = round_ticks(*extent(numbers, axis), count=5 if bottom > 150 else 4)
    words = tick_words(ticks, axis.unit)
    left = max(text_width(text) for text in words) + 8
    scale = AxisScale(ticks[0], ticks[-1], bottom, TOP_PX)
    drawing.label(0, 10, axis.words, style="axis")
    for tick, text in zip(ticks, words, strict=True):
        height_px = scale.at(tick)
        style = "zero" if tick == 0 else "grid"
        drawing.segment(left, height_px, drawing.width - right, height_px, style)
        drawing.label(left - 6, height_px + 4, text, style="tick", anchor="end")
    return scale, left


def draw_axes(
    drawing: Drawing, xs: list[float], ys: list[float], axes: tuple[Axis, Axis]
) -> tuple[AxisScale, AxisScale]:
    """Draw two axes of numbers, with a tick at each of few `xs`: their scales."""
    bottom = drawing.height - BOTTOM_PX
    y, left = draw_y_axis(drawing, ys, axes[1], bottom=bottom, right=14)
    low, high = extent(xs, axes[0])
    x = AxisScale(low, high, left + 4, drawing.width - 14, axes[0].is_logarithmic and low > 0)
    free = float("-inf")
    for tick in sorted(set(xs)):
        text = tick_words((tick,), axes[0].unit)[0]
        if axes[0].unit == "number":
            text = f"{tick:g}".replace("-", "−")
        where, half = x.at(tick), text_width(text) / 2
        if where - half > free:
            drawing.label(where, bottom + 15, text, style="tick", anchor="middle")
            free = where + half + 5
    drawing.label(x.end, drawing.height - 4, axes[0].words, style="axis", anchor="end")
    return x, y


def draw_dates(drawing: Drawing, days: tuple[str, ...], x: AxisScale, *, bottom: float) -> None:
    """Write dates below a chart whose x is the index of the day: as many as fit."""
    room = text_width("2024-12-31") * 1.6
    last = len(days) - 1
    intervals = max(int((x.end - x.start) / room), 1)
    step = max(math.ceil(last / intervals), 1)
    # The last date ends at its place, the others have theirs in the middle.
    chosen = [index for index in range(0, last, step) if x.end - x.at(index) > room]
    for index in (*chosen, last):
        anchor = "start" if index == 0 else "end" if index == last else "middle"
        where = x.at(index)
        drawing.segment(where, bottom, where, bottom + 4, "grid")
        drawing.label(where, bottom + 17, days[index], style="tick", anchor=anchor)
