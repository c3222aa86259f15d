"""Estimates with their intervals, one row each, against lines that matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite, with_interval
from tradingbot.evaluation.report.svg.drawing import Drawing, empty, shorten_text, text_width
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale, extent, round_ticks, tick_words
from tradingbot.evaluation.statistics.interval import Interval

_ROW_PX = 26.0
_TOP_PX = 24.0


@dataclass(frozen=True)
class Estimate:
    """One row of the forest."""

    name: str
    interval: Interval
    style: str = "agents"
    dots: tuple[float, ...] = ()
    """Single results behind the estimate."""


@dataclass(frozen=True)
class ForestRow:
    """A number that the estimates are read against."""

    number: float
    name: str
    style: str = "assumed"


def forest_chart(
    estimates: Sequence[Estimate], axis: Axis, *, width: float, lines: Sequence[ForestRow] = ()
) -> Drawing:
    """Draw a row per estimate: a dot, its 95 % interval, its name."""
    height = _TOP_PX + max(len(estimates), 1) * _ROW_PX + 40
    numbers = [n for e in estimates for n in finite((*e.interval, *e.dots))]
    if not numbers:
        return empty(width, height)
    left = min(max(text_width(e.name) for e in estimates) + 14, width * 0.38)
    ticks = round_ticks(*extent([*numbers, *finite([line.number for line in lines])], axis))
    x = AxisScale(ticks[0], ticks[-1], left, width - 12)
    bottom = _TOP_PX + len(estimates) * _ROW_PX
    drawing = Drawing(width, height)
    for tick, words in zip(ticks, tick_words(ticks, axis.unit), strict=True):
        style = "zero" if tick == 0 else "grid"
        drawing.segment(x.at(tick), _TOP_PX, x.at(tick), bottom, style)
        drawing.label(x.at(tick), bottom + 15, words, style="tick", anchor="middle")
    drawing.label(x.end, height - 4, axis.words, style="axis", anchor="end")
    for line in lines:
        if math.isfinite(line.number):
            where, half = x.at(line.number), text_width(line.name) / 2
            drawing.segment(where, _TOP_PX - 6, where, bottom, line.style)
            at = min(max(where, half), width - half - 58)
            drawing.label(at, 11, line.name, style="tick", anchor="middle")
    for index, estimate in enumerate(estimates):
        _draw_row(drawing, estimate, _TOP_PX + (index + 0.5) * _ROW_PX, x, left)
    return drawing


def _draw_row(
    drawing: Drawing, estimate: Estimate, height: float, x: AxisScale, left: float
) -> None:
    interval, name, style = estimate.interval, estimate.name, estimate.style
    drawing.label(0, height + 4, shorten_text(name, left - 10), style="row")
    for number in finite(estimate.dots):
        hint = f"{name}: {number:.3g}"
        drawing.dot(x.at(number), height - 8, 2.6, f"single {style}", hint=hint)
    if math.isfinite(interval.low) and math.isfinite(interval.high):
        ends = (x.at(interval.low), x.at(interval.high))
        drawing.segment(ends[0], height, ends[1], height, f"whisker {style}")
    if math.isfinite(interval.estimate):
        hint = f"{name}: {with_interval(interval)}"
        drawing.dot(x.at(interval.estimate), height, 4.2, style, hint=hint)
