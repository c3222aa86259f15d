"""When something held: one row of spells each, over days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.svg.drawing import Drawing, empty, text_width
from tradingbot.evaluation.report.svg.frame import DATES_PX, draw_dates
from tradingbot.evaluation.report.svg.scale import AxisScale

_TOP_PX, _ROW_PX = 18.0, 24.0


@dataclass(frozen=True)
class Spell:
    """One stretch of bars."""

    begin: int
    """Place of its first bar among the days."""
    end: int
    """Place after its last bar."""
    style: str = "pos"
    """Class of the fill: `pos`, `neg` or `blank`."""
    hint: str = ""


def spell_chart(
    days: tuple[str, ...], rows: Sequence[tuple[str, Sequence[Spell]]], *, width: float
) -> Drawing:
    """Draw a row of spells for each name; what lies outside the days is cut off."""
    if not rows or len(days) < 2:
        return empty(width, 60)
    left = min(max(text_width(name) for name, _ in rows) + 12, width * 0.3)
    x = AxisScale(0, len(days) - 1, left, width - 6)
    bottom = _TOP_PX + len(rows) * _ROW_PX
    drawing = Drawing(width, bottom + DATES_PX)
    draw_dates(drawing, days, x, bottom=bottom)
    for index, (name, spells) in enumerate(rows):
        top, high = _TOP_PX + index * _ROW_PX, _ROW_PX - 8
        drawing.label(left - 10, top + 15, name, style="tick", anchor="end")
        drawing.box((left, top + 4, x.end - left, high), "blank")
        for spell in spells:
            begin, end = x.at(max(spell.begin, 0)), x.at(min(spell.end, len(days) - 1))
            if spell.end > 0 and spell.begin < len(days) - 1:
                place = (begin, top + 4, max(end - begin, 1.2), high)
                drawing.box(place, spell.style, hint=spell.hint)
    return drawing
