"""Columns that stand on zero, and bars that lie beside their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite
from tradingbot.evaluation.report.svg.drawing import Drawing, empty, shorten_text, text_width
from tradingbot.evaluation.report.svg.frame import BOTTOM_PX, DATES_PX, draw_y_axis
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale

_ROW_PX = 19.0


@dataclass(frozen=True)
class BarGroup:
    """One column."""

    name: str
    height: float
    hint: str
    beside: float = math.nan
    """Where a second figure is compared with it: a dot at this height."""
    style: str = ""
    """Class of the fill; by sign where empty."""
    below: float = math.nan
    """A second column that hangs from zero, 0 or less."""


def column_chart(
    columns: Sequence[BarGroup], axis: Axis, *, width: float, height: float, words: str = ""
) -> Drawing:
    """Draw columns from zero, coloured by sign; names below as far as they fit."""
    numbers = [
        n for column in columns for n in finite((column.height, column.beside, column.below))
    ]
    if not numbers:
        return empty(width, height)
    bottom = height - (BOTTOM_PX if words else DATES_PX)
    drawing = Drawing(width, height)
    held = Axis(axis.words, axis.unit, (0.0, *axis.holds))
    y, left = draw_y_axis(drawing, numbers, held, bottom=bottom)
    slot = (width - 6 - left) / len(columns)
    thick = min(max(slot * 0.72, 1), 44)
    free = float("-inf")
    for index, column in enumerate(columns):
        middle = left + (index + 0.5) * slot
        _draw_column(drawing, column, middle, thick, y)
        half = text_width(column.name) / 2
        start = max(middle - half, left - 4)
        if start > free and start + 2 * half <= width + 8:
            drawing.label(start, bottom + 16, column.name, style="tick")
            free = start + 2 * half + 8
    if words:
        drawing.label(width - 6, height - 4, words, style="axis", anchor="end")
    return drawing


def row_chart(rows: Sequence[tuple[str, float, str]], *, width: float) -> Drawing:
    """Draw one bar per row (name, number, number in words), from zero, the names on the left."""
    known = [row for row in rows if math.isfinite(row[1])]
    drawing = Drawing(width, max(len(known), 2) * _ROW_PX + 26)
    if not known:
        return empty(width, drawing.height)
    left = min(max(text_width(name) for name, _, _ in known) + 10, width * 0.42)
    right = max(text_width(words) for _, _, words in known) + 10
    numbers = [number for _, number, _ in known]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    high = high if high > low else 1.0
    start = left + (right + 4 if low < 0 else 0)
    x = AxisScale(low, high, start, width - right)
    for index, (name, number, words) in enumerate(known):
        top = 20 + index * _ROW_PX
        begin, end = sorted((x.at(0), x.at(number)))
        style = "neg" if number < 0 else "pos"
        drawing.label(0, top + 12, shorten_text(name, left - 6), style="row")
        drawing.box((begin, top + 3, end - begin, 11), style, hint=f"{name}: {words}")
        beyond, anchor = (begin - 5, "end") if number < 0 else (end + 5, "start")
        drawing.label(beyond, top + 12, words, style="tick", anchor=anchor)
    drawing.segment(x.at(0), 18, x.at(0), 20 + len(known) * _ROW_PX, "zero")
    return drawing


def _draw_column(
    drawing: Drawing, column: BarGroup, middle: float, thick: float, y: AxisScale
) -> None:
    if math.isfinite(column.height):
        top, bottom = sorted((y.at(0), y.at(column.height)))
        style = column.style or ("neg" if column.height < 0 else "pos")
        drawing.box((middle - thick / 2, top, thick, bottom - top), style, hint=column.hint)
    if math.isfinite(column.below):
        place = (middle - thick / 2, y.at(0), thick, y.at(column.below) - y.at(0))
        drawing.box(place, "neg", hint=column.hint)
    if math.isfinite(column.beside):
        radius = min(max(thick / 4, 1.6), 3.6)
        drawing.dot(middle, y.at(column.beside), radius, "beside", hint=column.hint)
