"""The quiet part of a chart: grid, numbers beside the axes, names of the axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.evaluation.report.svg.drawing import label, segment, text_width
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale, extent, round_ticks, tick_words

TOP_PX = 24.0
BOTTOM_PX = 38.0
DATES_PX = 24.0


@dataclass(frozen=True)
class Frame:
    """Where the data go, and what is drawn behind them."""

    x: AxisScale
    y: AxisScale
    behind: str


def y_frame(
    numbers: list[float], axis: Axis, *, width: float, bottom: float, right: float = 6.0
) -> tuple[AxisScale, float, str]:
    """Lay out a vertical axis down to `bottom`: its scale, the plot's left edge, and the grid."""
    ticks = round_ticks(*extent(numbers, axis), count=5 if bottom > 150 else 4)
    words = tick_words(ticks, axis.unit)
    left = max(text_width(text) for text in words) + 8
    scale = AxisScale(ticks[0], ticks[-1], bottom, TOP_PX)
    grid = [label(0, 10, axis.words, style="axis")]
    for tick, text in zip(ticks, words, strict=True):
        height_px = scale.at(tick)
        style = "zero" if tick == 0 else "grid"
        grid.append(segment(left, height_px, width - right, height_px, style))
        grid.append(label(left - 6, height_px + 4, text, style="tick", anchor="end"))
    return scale, left, "".join(grid)


def numeric_frame(
    xs: list[float],
    ys: list[float],
    axes: tuple[Axis, Axis],
    *,
    width: float,
    height: float,
    logarithmic: bool = False,
) -> Frame:
    """Lay out two axes of numbers; the x axis has a tick at each of few `xs`."""
    y, left, grid = y_frame(ys, axes[1], width=width, bottom=height - BOTTOM_PX, right=14)
    low, high = extent(xs, axes[0])
    x = AxisScale(low, high, left + 4, width - 14, logarithmic and low > 0)
    return Frame(x, y, grid + _x_ticks(x, xs, axes[0], height=height))


def _x_ticks(x: AxisScale, xs: list[float], axis: Axis, *, height: float) -> str:
    ticks = sorted(set(xs))
    texts = [tick_words((tick,), axis.unit)[0] for tick in ticks]
    if axis.unit == "number":
        texts = [f"{tick:g}".replace("-", "−") for tick in ticks]
    parts, free = [], float("-inf")
    for tick, text in zip(ticks, texts, strict=True):
        where, half = x.at(tick), text_width(text) / 2
        if where - half > free:
            parts.append(label(where, height - BOTTOM_PX + 15, text, style="tick", anchor="middle"))
            free = where + half + 5
    parts.append(label(x.end, height - 4, axis.words, style="axis", anchor="end"))
    return "".join(parts)


def date_ticks(days: tuple[str, ...], x: AxisScale, *, bottom: float) -> str:
    """Write dates below a chart whose x is the index of the day: as many as fit."""
    room = text_width("2024-12-31") * 1.6
    last = len(days) - 1
    intervals = max(int((x.end - x.start) / room), 1)
    step = max(math.ceil(last / intervals), 1)
    chosen = [index for index in range(0, last, step) if last - index > 0.7 * step]
    parts = []
    for index in (*chosen, last):
        anchor = "start" if index == 0 else "end" if index == last else "middle"
        where = x.at(index)
        parts.append(segment(where, bottom, where, bottom + 4, "grid"))
        parts.append(label(where, bottom + 17, days[index], style="tick", anchor=anchor))
    return "".join(parts)
