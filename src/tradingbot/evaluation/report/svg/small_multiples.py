"""Many small charts of the same kind in one drawing: an eye finds the odd one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite
from tradingbot.evaluation.report.svg.drawing import Drawing, empty, shorten_text, text_width
from tradingbot.evaluation.report.svg.scale import AxisScale

_CELL_PX, _HEAD_PX, _CURVE_PX, _GAP_PX = 104.0, 15.0, 40.0, 14.0
_TOP_PX = 20.0


@dataclass(frozen=True)
class SmallChart:
    """One cell."""

    name: str
    words: str
    """Beside the name: its return."""
    ys: Sequence[float]
    beside: Sequence[float]
    """A thin second line on the same scale; may be empty."""
    hint: str
    style: str = "agents"
    """Class of the line."""


def small_multiples(charts: Sequence[SmallChart], *, width: float, words: str) -> Drawing:
    """Draw a grid of charts, all on one scale; `words` says what it is.

    The scale holds what nine charts in ten need: one that runs away must not flatten the others.
    """
    if not charts:
        return empty(width, 60)
    columns = max(int((width + _GAP_PX) / (_CELL_PX + _GAP_PX)), 1)
    wide = (width - (columns - 1) * _GAP_PX) / columns
    row_px = _HEAD_PX + _CURVE_PX + 12
    drawing = Drawing(width, _TOP_PX + math.ceil(len(charts) / columns) * row_px)
    drawing.label(0, 9, words, style="axis")
    low, high = _shared_extent(charts)
    for number, chart in enumerate(charts):
        left = (number % columns) * (wide + _GAP_PX)
        top = _TOP_PX + (number // columns) * row_px
        _draw_cell(drawing, chart, (left, top, wide), (low, high))
    return drawing


def _shared_extent(charts: Sequence[SmallChart]) -> tuple[float, float]:
    ends = [finite([*chart.ys, *chart.beside]) for chart in charts]
    lows = sorted(min(each) for each in ends if each)
    highs = sorted(max(each) for each in ends if each)
    if not lows:
        return 0.0, 1.0
    low, high = lows[int(0.1 * (len(lows) - 1))], highs[int(0.9 * (len(highs) - 1))]
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _draw_cell(
    drawing: Drawing,
    chart: SmallChart,
    place: tuple[float, float, float],
    ends: tuple[float, float],
) -> None:
    left, top, wide = place
    room = wide - text_width(chart.words, 10.5) - 6
    drawing.label(left, top + 10, shorten_text(chart.name, room), style="row small")
    drawing.label(left + wide, top + 10, chart.words, style=f"small {chart.style}", anchor="end")
    y = AxisScale(*ends, top + _HEAD_PX + _CURVE_PX, top + _HEAD_PX)
    if ends[0] <= 1.0 <= ends[1]:
        drawing.segment(left, y.at(1.0), left + wide, y.at(1.0), "grid")
    for ys, style in ((chart.beside, "line other"), (chart.ys, f"line thin {chart.style}")):
        x = AxisScale(0, max(len(ys) - 1, 1), left, left + wide)
        points = [(x.at(at), y.at(value)) for at, value in enumerate(ys) if math.isfinite(value)]
        drawing.curve(points, style)
    drawing.box((left, top, wide, _HEAD_PX + _CURVE_PX), "hit", hint=chart.hint)
