"""A price with what was held below it, and every fill on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite
from tradingbot.evaluation.report.svg import frame
from tradingbot.evaluation.report.svg.drawing import Drawing, empty
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale

_HELD = {1: "pos", -1: "neg", 0: "blank"}
_MARK_PX, _MARK_HALF_PX, _BETWEEN, _TINT = 7.5, 4.2, 0.66, 0.13


@dataclass(frozen=True)
class PriceMark:
    """A fill: a triangle that points up below its price where it buys, down above it else."""

    place: float
    price: float
    buys: bool
    hint: str
    closes: bool = False
    """Hollow: it takes out of what is held."""
    is_between: bool = False
    """Smaller: neither the first nor the last fill of its trade."""


def price_chart(
    places: Sequence[int],
    days: tuple[str, ...],
    prices: Sequence[float],
    marks: Sequence[PriceMark],
    held: Sequence[tuple[int, int, int]],
    *,
    width: float,
    height: float,
) -> Drawing:
    """Draw a price over bars.

    Args:
        places: (K,) of the bars that are drawn, rising.
        days: (K,) when they closed.
        prices: (K,)
        marks: Fills.
        held: First bar, last bar, and sign of the result of each trade: a tint behind the price.
        width: px.
        height: px.
    """
    numbers = [*finite(list(prices)), *finite([mark.price for mark in marks])]
    if len(places) < 2 or not numbers:
        return empty(width, height)
    drawing, bottom = Drawing(width, height), height - frame.DATES_PX
    y, left = frame.draw_y_axis(drawing, numbers, Axis("price"), bottom=bottom)
    x = AxisScale(places[0], places[-1], left, width - 6)
    by_index = AxisScale(0, len(places) - 1, left, width - 6)
    frame.draw_dates(drawing, tuple(day[:10] for day in days), by_index, bottom=bottom)
    for first, last, sign in held:
        if last >= places[0]:
            begin, end = x.at(first), x.at(last)
            place = (begin, frame.TOP_PX, max(end - begin, 1.0), bottom - frame.TOP_PX)
            drawing.box(place, _HELD[sign], opacity=_TINT)
    known = [(x.at(at), y.at(price)) for at, price in zip(places, prices, strict=True)
             if math.isfinite(price)]  # fmt: skip
    drawing.curve(known, "line held")
    for mark in marks:
        _draw_mark(drawing, x.at(mark.place), y.at(mark.price), mark)
    return drawing


def _draw_mark(drawing: Drawing, x: float, y: float, mark: PriceMark) -> None:
    size = _BETWEEN if mark.is_between else 1.0
    base, half = size * (_MARK_PX if mark.buys else -_MARK_PX), size * _MARK_HALF_PX
    corners = [(x, y), (x - half, y + base), (x + half, y + base)]
    style = ("buys" if mark.buys else "sells") + " hollow" * mark.closes
    drawing.polygon(corners, style, hint=mark.hint)
