"""Lines over time, and lines with a band over a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite, percent, plain, with_interval
from tradingbot.evaluation.report.svg import frame
from tradingbot.evaluation.report.svg.drawing import Drawing, empty, shorten_text, text_width
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
    band: Interval | None = None,
) -> Drawing:
    """Draw lines over days, the first on top; resting the pointer on a day tells its figures.

    Args:
        days: Of the points of every line.
        lines: To draw.
        axis: Of their numbers.
        width: px.
        height: px.
        band: A number that the lines are read against, and the range around it.
    """
    numbers = [y for line in lines for y in finite(line.ys)]
    if not numbers or len(days) < 2:
        return empty(width, height)
    numbers += finite(tuple(band or ()))
    named = [line for line in lines if line.is_named]
    drawing, bottom = Drawing(width, height), height - frame.DATES_PX
    right = min(max((text_width(line.name) for line in named), default=0) + 12, width * 0.26)
    y, left = frame.draw_y_axis(drawing, numbers, axis, bottom=bottom, right=right)
    x = AxisScale(0, len(days) - 1, left, width - right)
    frame.draw_dates(drawing, days, x, bottom=bottom)
    if band is not None and len(finite(tuple(band))) == 3:
        high, low = y.at(band.high), y.at(band.low)
        drawing.box((x.start, high, x.end - x.start, low - high), "band")
        drawing.segment(x.start, y.at(band.estimate), x.end, y.at(band.estimate), "assumed")
    for line in reversed(lines):
        points = _points(line.ys, x, y)
        if line.is_filled and points:
            edge = [(points[0][0], y.at(0)), *points, (points[-1][0], y.at(0))]
            drawing.curve(edge, f"tint {line.style}", is_closed=True)
        drawing.curve(points, f"line {line.style}")
    _draw_names(drawing, named, x, y, room=right - 8)
    _draw_hints(drawing, days, lines, axis.unit, x)
    return drawing


def band_chart(
    xs: Sequence[float],
    intervals: Sequence[Interval],
    axes: tuple[Axis, Axis],
    *,
    width: float,
    height: float,
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
    drawing = Drawing(width, height)
    x, y = frame.draw_axes(drawing, [x for x, _ in known], ends, axes)
    if marked is not None and x.low <= marked <= x.high:
        drawing.segment(
            x.at(marked), frame.TOP_PX, x.at(marked), height - frame.BOTTOM_PX, "assumed"
        )
    upper = [(x.at(at), y.at(i.high)) for at, i in known if math.isfinite(i.high)]
    lower = [(x.at(at), y.at(i.low)) for at, i in known if math.isfinite(i.low)]
    drawing.curve([*upper, *reversed(lower)], "tint agents", is_closed=True)
    drawing.curve([(x.at(at), y.at(i.estimate)) for at, i in known], "line agents")
    for at, interval in known:
        hint = f"{at:g}: {with_interval(interval)}"
        drawing.dot(x.at(at), y.at(interval.estimate), 3.2, "agents", hint=hint)
    return drawing


def _points(ys: tuple[float, ...], x: AxisScale, y: AxisScale) -> list[tuple[float, float]]:
    """Thin a line to what the eye can tell, keeping its last point."""
    step = max(math.ceil(len(ys) / _MAX_POINTS), 1)
    kept = sorted({*range(0, len(ys), step), len(ys) - 1}) if ys else []
    return [(x.at(index), y.at(ys[index])) for index in kept if math.isfinite(ys[index])]


def _draw_names(
    drawing: Drawing, lines: list[LineSeries], x: AxisScale, y: AxisScale, *, room: float
) -> None:
    """Write names at the ends of their lines, pushed apart where they would overlap."""
    ends = [(y.at(finite(line.ys)[-1]), line) for line in lines if finite(line.ys)]
    wanted = sorted(ends, key=lambda pair: pair[0])
    places: list[float] = []
    for height, _ in wanted:
        places.append(max(height, places[-1] + _LABEL_PX) if places else height)
    lowest = y.start + 4
    for index in range(len(places) - 1, -1, -1):
        ceiling = lowest if index == len(places) - 1 else places[index + 1] - _LABEL_PX
        places[index] = min(places[index], ceiling)
    for place, (_, line) in zip(places, wanted, strict=True):
        words = shorten_text(line.name, room)
        drawing.label(x.end + 7, place + 4, words, style=f"name {line.style}")


def _draw_hints(
    drawing: Drawing, days: tuple[str, ...], lines: Sequence[LineSeries], unit: str, x: AxisScale
) -> None:
    write = percent if unit == "percent" else plain
    step = max(math.ceil(len(days) / _MAX_HINTS), 1)
    strip = (x.end - x.start) / max(len(days) - 1, 1) * step
    high = drawing.height - frame.DATES_PX - frame.TOP_PX
    for index in range(0, len(days), step):
        rows = [f"{line.name}: {write(line.ys[index])}" for line in lines if index < len(line.ys)]
        place = (x.at(index) - strip / 2, frame.TOP_PX, strip, high)
        drawing.box(place, "hit", hint="\n".join([days[index], *rows]))
