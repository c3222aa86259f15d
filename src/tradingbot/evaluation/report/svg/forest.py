"""Estimates with their intervals, one row each, against lines that matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite, with_interval
from tradingbot.evaluation.report.svg.drawing import (
    Drawing,
    dot,
    empty,
    label,
    segment,
    shorten_text,
    text_width,
)
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
    parts = [
        _grid(ticks, axis, x, bottom),
        label(x.end, height - 4, axis.words, style="axis", anchor="end"),
    ]
    for line in lines:
        if math.isfinite(line.number):
            where = x.at(line.number)
            parts.append(segment(where, _TOP_PX - 6, where, bottom, line.style))
            parts.append(_line_name(line, where, width))
    for index, estimate in enumerate(estimates):
        parts.append(_row(estimate, _TOP_PX + (index + 0.5) * _ROW_PX, x, left))
    return Drawing(width, height, "".join(parts))


def _grid(ticks: tuple[float, ...], axis: Axis, x: AxisScale, bottom: float) -> str:
    parts = []
    for tick, words in zip(ticks, tick_words(ticks, axis.unit), strict=True):
        where = x.at(tick)
        parts.append(segment(where, _TOP_PX, where, bottom, "zero" if tick == 0 else "grid"))
        parts.append(label(where, bottom + 15, words, style="tick", anchor="middle"))
    return "".join(parts)


def _line_name(line: ForestRow, where: float, width: float) -> str:
    half = text_width(line.name) / 2
    at = min(max(where, half), width - half - 58)
    return label(at, 11, line.name, style="tick", anchor="middle")


def _row(estimate: Estimate, height: float, x: AxisScale, left: float) -> str:
    interval, name = estimate.interval, estimate.name
    parts = [label(0, height + 4, shorten_text(name, left - 10), style="row")]
    parts += [
        dot(x.at(number), height - 8, 2.6, f"single {estimate.style}", hint=f"{name}: {number:.3g}")
        for number in finite(estimate.dots)
    ]
    if math.isfinite(interval.low) and math.isfinite(interval.high):
        ends = (x.at(interval.low), x.at(interval.high))
        parts.append(segment(ends[0], height, ends[1], height, f"whisker {estimate.style}"))
    if math.isfinite(interval.estimate):
        hint = f"{name}: {with_interval(interval)}"
        parts.append(dot(x.at(interval.estimate), height, 4.2, estimate.style, hint=hint))
    return "".join(parts)
