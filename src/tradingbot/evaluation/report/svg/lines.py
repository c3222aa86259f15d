"""Lines over time, and lines with a band over a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite, percent, plain, with_interval
from tradingbot.evaluation.report.svg.drawing import (
    Drawing,
    area,
    box,
    curve,
    dot,
    empty,
    label,
    segment,
    shorten_text,
    text_width,
)
from tradingbot.evaluation.report.svg.frame import (
    BOTTOM_PX,
    DATES_PX,
    TOP_PX,
    date_ticks,
    numeric_frame,
    y_frame,
)
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale
from tradingbot.evaluation.statistics.interval import Interval

_MAX_POINTS = 400
_MAX_HINTS = 60
_LABEL_PX = 14.0


@dataclass(frozen=True)
class LineSeries:
    """One line over days."""

    name: str
    ys: tuple[float, ...]
    style: str
    """Class of the stroke: `agents`, `held`, `index`, `oracle` or `other`."""
    is_named: bool = True
    """Its name stands at its end."""
    is_filled: bool = False
    """The area to zero is tinted."""


def time_chart(
    days: tuple[str, ...],
    lines: Sequence[LineSeries],
    axis: Axis,
    *,
    width: float,
    height: float,
) -> Drawing:
    """Draw lines over days, the first on top; resting the pointer on a day tells its figures."""
    numbers = [y for line in lines for y in finite(line.ys)]
    if not numbers or len(days) < 2:
        return empty(width, height)
    named = [line for line in lines if line.is_named]
    bottom = height - DATES_PX
    right = min(max((text_width(line.name) for line in named), default=0) + 12, width * 0.26)
    y, left, grid = y_frame(numbers, axis, width=width, bottom=bottom, right=right)
    x = AxisScale(0, len(days) - 1, left, width - right)
    parts = [grid, date_ticks(days, x, bottom=bottom)]
    for line in reversed(lines):
        points = _points(line.ys, x, y)
        if line.is_filled and points:
            zero = y.at(0)
            edge = [(points[0][0], zero), *points, (points[-1][0], zero)]
            parts.append(area(edge, f"tint {line.style}"))
        parts.append(curve(points, f"line {line.style}"))
    parts.append(_end_names(named, x, y, room=right - 8))
    parts.append(_hints(days, lines, axis, x, bottom))
    return Drawing(width, height, "".join(parts))


def band_chart(
    xs: Sequence[float],
    intervals: Sequence[Interval],
    axes: tuple[Axis, Axis],
    *,
    width: float,
    height: float,
    logarithmic: bool = False,
    marked: float | None = None,
) -> Drawing:
    """Draw estimates with their intervals over a setting; `marked` is the run's own setting."""
    known = [
        (x, interval)
        for x, interval in zip(xs, intervals, strict=True)
        if math.isfinite(x) and math.isfinite(interval.estimate)
    ]
    if not known:
        return empty(width, height)
    ends = [end for _, interval in known for end in finite(tuple(interval))]
    frame = numeric_frame(
        [x for x, _ in known],
        ends,
        axes,
        width=width,
        height=height,
        logarithmic=logarithmic,
    )
    parts = [frame.behind]
    if marked is not None and frame.x.low <= marked <= frame.x.high:
        where = frame.x.at(marked)
        parts.append(segment(where, TOP_PX, where, height - BOTTOM_PX, "assumed"))
    upper = [(frame.x.at(x), frame.y.at(i.high)) for x, i in known if math.isfinite(i.high)]
    lower = [(frame.x.at(x), frame.y.at(i.low)) for x, i in known if math.isfinite(i.low)]
    parts.append(area([*upper, *reversed(lower)], "tint agents"))
    middle = [(frame.x.at(x), frame.y.at(i.estimate)) for x, i in known]
    parts.append(curve(middle, "line agents"))
    for (x, interval), (where, level) in zip(known, middle, strict=True):
        parts.append(dot(where, level, 3.2, "agents", hint=f"{x:g}: {with_interval(interval)}"))
    return Drawing(width, height, "".join(parts))


def _points(ys: tuple[float, ...], x: AxisScale, y: AxisScale) -> list[tuple[float, float]]:
    """Thin a line to what the eye can tell, keeping its last point."""
    step = max(math.ceil(len(ys) / _MAX_POINTS), 1)
    kept = sorted({*range(0, len(ys), step), len(ys) - 1}) if ys else []
    return [(x.at(index), y.at(ys[index])) for index in kept if math.isfinite(ys[index])]


def _end_names(lines: list[LineSeries], x: AxisScale, y: AxisScale, *, room: float) -> str:
    """Write names at the ends of their lines, pushed apart where they would overlap."""
    wanted = sorted(
        ((y.at(finite(line.ys)[-1]), line) for line in lines if finite(line.ys)),
        key=lambda pair: pair[0],
    )
    places: list[float] = []
    for height, _ in wanted:
        places.append(max(height, places[-1] + _LABEL_PX) if places else height)
    lowest = y.start + 4
    for index in range(len(places) - 1, -1, -1):
        ceiling = lowest if index == len(places) - 1 else places[index + 1] - _LABEL_PX
        places[index] = min(places[index], ceiling)
    return "".join(
        label(x.end + 7, place + 4, shorten_text(line.name, room), style=f"name {line.style}")
        for place, (_, line) in zip(places, wanted, strict=True)
    )


def _hints(
    days: tuple[str, ...], lines: Sequence[LineSeries], axis: Axis, x: AxisScale, bottom: float
) -> str:
    write = percent if axis.unit == "percent" else plain
    step = max(math.ceil(len(days) / _MAX_HINTS), 1)
    strip = (x.end - x.start) / max(len(days) - 1, 1) * step
    parts = []
    for index in range(0, len(days), step):
        rows = [f"{line.name}: {write(line.ys[index])}" for line in lines if index < len(line.ys)]
        parts.append(
            box(
                x.at(index) - strip / 2,
                TOP_PX,
                strip,
                bottom - TOP_PX,
                "hit",
                hint="\n".join([days[index], *rows]),
            )
        )
    return "".join(parts)
