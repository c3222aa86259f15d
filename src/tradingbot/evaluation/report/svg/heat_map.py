"""Numbers as tinted cells; large maps as one small picture."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import finite, plain
from tradingbot.evaluation.report.svg.drawing import Box, Drawing, empty, shorten_text, text_width
from tradingbot.evaluation.report.svg.frame import DATES_PX, draw_dates
from tradingbot.evaluation.report.svg.scale import AxisScale

_TOP_PX = 24.0
_MAX_CELLS = 1_000
_PIXEL_ROW_PX = 15.0
# The page's blue and orange (Okabe–Ito): tinted by opacity, so that they suit any paper.
_POSITIVE, _NEGATIVE = (0, 114, 178), (213, 94, 0)


@dataclass(frozen=True)
class HeatMap:
    """A table of numbers to be tinted by sign and size."""

    cells: Sequence[Sequence[float]]
    """(R, C)"""
    rows: Sequence[str]
    columns: Sequence[str]
    row_words: str = ""
    column_words: str = ""
    digits: int = 2
    limit: float | None = None
    """Number with the full tint; the largest in the map where None."""


def heat_map(
    table: HeatMap,
    *,
    width: float,
    cell_height: float = 34.0,
    contour: Sequence[float] = (),
    pointer: tuple[float, str] | None = None,
) -> Drawing:
    """Draw cells with their numbers.

    Args:
        table: What to draw.
        width: px.
        cell_height: px.
        contour: (R,) where a line crosses each row, in columns: 0 is the middle of the first
            column; NaN where it does not cross.
        pointer: A place above the map, in columns, and its name.
    """
    height = _TOP_PX + len(table.rows) * cell_height + (40 if table.column_words else 24)
    known = [abs(number) for row in table.cells for number in finite(list(row))]
    largest = table.limit or max(known, default=0)
    if not largest or not table.columns:
        return empty(width, height)
    left = min(max(text_width(name) for name in table.rows) + 10, width * 0.34)
    grid = _Grid(left, (width - left - 2) / len(table.columns), cell_height, largest)
    drawing = Drawing(width, height)
    drawing.label(0, 10, table.row_words, style="axis")
    for index, name in enumerate(table.rows):
        middle = _TOP_PX + (index + 0.5) * cell_height
        words = shorten_text(name, left - 8)
        drawing.label(left - 8, middle + 4, words, style="tick", anchor="end")
        crossing = contour[index] if index < len(contour) else math.nan
        for place in range(len(table.columns)):
            _draw_cell(drawing, table, (index, place), grid, crossing - place)
    _draw_column_names(drawing, table, grid)
    if table.column_words:
        drawing.label(width - 2, height - 4, table.column_words, style="axis", anchor="end")
    if pointer is not None:
        drawing.label(grid.x(pointer[0] + 0.5), 17, pointer[1], style="tick", anchor="middle")
    _draw_contour(drawing, contour, grid, len(table.columns))
    return drawing


def correlation_map(
    names: Sequence[str], cells: Sequence[Sequence[float]], *, width: float
) -> Drawing:
    """Draw a square map of correlations: cells while they can be read, else one picture."""
    if not names:
        return empty(width, 60)
    if len(names) ** 2 <= _MAX_CELLS:
        table = HeatMap(cells, names, names, limit=1.0)
        room = min(max((text_width(name) for name in names), default=0) + 10, width * 0.34)
        return heat_map(table, width=width, cell_height=min((width - room) / len(names), 40.0))
    drawing = Drawing(width, width + _TOP_PX + 4, _picture(cells, (0.0, _TOP_PX, width, width)))
    drawing.label(0, 12, f"{names[0]} … {names[-1]}, in the order of likeness", style="axis")
    return drawing


def pixel_map(
    cells: Sequence[Sequence[float]], rows: Sequence[str], days: tuple[str, ...], *, width: float
) -> Drawing:
    """Draw a large map over days as one picture: opacity is size, 1 is the full tint.

    Args:
        cells: (R, C) numbers; blank where one is NaN.
        rows: R names.
        days: C dates.
        width: px.
    """
    if not rows or len(days) < 2:
        return empty(width, 60)
    left = min(max(text_width(name) for name in rows) + 10, width * 0.3)
    bottom = _TOP_PX + len(rows) * _PIXEL_ROW_PX
    picture = _picture(cells, (left, _TOP_PX, width - left - 6, bottom - _TOP_PX))
    drawing = Drawing(width, bottom + DATES_PX, picture)
    for index, name in enumerate(rows):
        middle = _TOP_PX + (index + 0.5) * _PIXEL_ROW_PX
        drawing.label(left - 8, middle + 4, name, style="tick", anchor="end")
    draw_dates(drawing, days, AxisScale(0, len(days) - 1, left, width - 6), bottom=bottom)
    return drawing


def _picture(cells: Sequence[Sequence[float]], place: Box) -> str:
    x, y, wide, high = place
    return (
        f'<image x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" class="pixels" '
        f'preserveAspectRatio="none" href="{_as_png(cells)}"/>'
    )


@dataclass(frozen=True)
class _Grid:
    """Where the cells are, px, and the number with the full tint."""

    left: float
    wide: float
    high: float
    largest: float

    def x(self, columns: float) -> float:
        return self.left + columns * self.wide


def _draw_cell(
    drawing: Drawing, table: HeatMap, place: tuple[int, int], grid: _Grid, crossing: float
) -> None:
    """Draw one cell; its number gives way to a contour that would cross it."""
    number = table.cells[place[0]][place[1]]
    x, y = grid.x(place[1]) + 0.5, _TOP_PX + place[0] * grid.high + 0.5
    wide, high = grid.wide - 1, grid.high - 1
    row = f"{table.row_words} {table.rows[place[0]]}".strip()
    hint = f"{row}, " + f"{table.column_words} {table.columns[place[1]]}".strip()
    if not math.isfinite(number):
        drawing.box((x, y, wide, high), "blank", hint=f"{hint}: no figure")
        return
    words, style = plain(number, table.digits), "neg" if number < 0 else "pos"
    tint = min(abs(number) / grid.largest, 1.0) * 0.78 + 0.04
    drawing.box((x, y, wide, high), style, hint=f"{hint}: {words}", opacity=tint)
    if text_width(words, 11) > wide - 2 or high < 14:
        return
    aside = 0.0 if abs(crossing) > 0.22 or math.isnan(crossing) else math.copysign(0.27, -crossing)
    where = x + wide * (0.5 + aside)
    drawing.label(where, y + high / 2 + 4, words, style="cell", anchor="middle")


def _draw_column_names(drawing: Drawing, table: HeatMap, grid: _Grid) -> None:
    bottom, free = _TOP_PX + len(table.rows) * grid.high, float("-inf")
    for place, name in enumerate(table.columns):
        middle, half = grid.x(place + 0.5), text_width(name) / 2
        if name and middle - half > free:
            drawing.label(middle, bottom + 15, name, style="tick", anchor="middle")
            free = middle + half + 4


def _draw_contour(drawing: Drawing, crossings: Sequence[float], grid: _Grid, columns: int) -> None:
    points = []
    for index, crossing in enumerate(crossings):
        if math.isnan(crossing):
            continue
        x = grid.x(min(max(crossing + 0.5, 0.0), float(columns)))
        top = _TOP_PX + index * grid.high
        points += [(x, top), (x, top + grid.high)]
    drawing.curve(points, "halo")
    drawing.curve(points, "contour")


def _as_png(cells: Sequence[Sequence[float]]) -> str:
    """Encode a map as an image whose opacity is the size of the number."""
    lines = b"".join(b"\0" + b"".join(_pixel(number) for number in row) for row in cells)
    head = struct.pack(">IIBBBBB", len(cells[0]), len(cells), 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")


def _pixel(number: float) -> bytes:
    if not math.isfinite(number):
        return b"\0\0\0\0"
    colour = _NEGATIVE if number < 0 else _POSITIVE
    return bytes((*colour, round(min(abs(number), 1.0) * 255)))
