"""A chart as markup: shapes that are added one by one, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

# Advance of one character of the page's typeface ÷ its size; errs on the wide side.
_CHARACTER = 0.56
FONT_PX = 11.5
Box = tuple[float, float, float, float]
"""Left, top, width and height, px."""


@dataclass
class Drawing:
    """A chart: markup in a box, to which shapes are added."""

    width: float
    """px"""
    height: float
    """px"""
    body: str = ""
    """SVG elements; every text within is escaped."""

    def label(self, x: float, y: float, words: str, *, style: str = "", anchor: str = "") -> None:
        """Add a text; `anchor` is `start` (default), `middle` or `end`."""
        at = f' text-anchor="{anchor}"' if anchor else ""
        self.body += f'<text x="{px(x)}" y="{px(y)}"{_class(style)}{at}>{escape(words)}</text>'

    def segment(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """Add a straight line."""
        self.curve([(x1, y1), (x2, y2)], style)

    def box(self, place: Box, style: str, *, hint: str = "", opacity: float = 1) -> None:
        """Add a rectangle, with words that show when the pointer rests on it."""
        x, y, width, height = place
        faded = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        size = f'width="{px(max(width, 0))}" height="{px(max(height, 0))}"'
        self._hinted("rect", f'x="{px(x)}" y="{px(y)}" {size}{_class(style)}{faded}', hint)

    def dot(self, x: float, y: float, radius: float, style: str, *, hint: str = "") -> None:
        """Add a filled circle, with words that show when the pointer rests on it."""
        place = f'cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"'
        self._hinted("circle", f"{place}{_class(style)}", hint)

    def curve(
        self, points: Iterable[tuple[float, float]], style: str, *, is_closed: bool = False
    ) -> None:
        """Add a line through points, or the outline of an area; nothing where there are none."""
        path = "L".join(f"{px(x)} {px(y)}" for x, y in points)
        if path:
            self.body += f'<path d="M{path}{"Z" if is_closed else ""}"{_class(style)}/>'

    def polygon(
        self, corners: Iterable[tuple[float, float]], style: str, *, hint: str = ""
    ) -> None:
        """Add a filled shape, with words that show when the pointer rests on it."""
        points = " ".join(f"{px(x)},{px(y)}" for x, y in corners)
        self._hinted("polygon", f'points="{points}"{_class(style)}', hint)

    def _hinted(self, tag: str, attributes: str, hint: str) -> None:
        end = f"><title>{escape(hint)}</title></{tag}>" if hint else "/>"
        self.body += f"<{tag} {attributes}{end}"


def as_svg(drawing: Drawing, *, title: str, synthetic: bool) -> str:
    """Close a drawing into an `<svg>` that says by itself when its data are synthetic."""
    mark = Drawing(drawing.width, drawing.height)
    if synthetic:
        mark.label(drawing.width, 10, "synthetic", style="mark", anchor="end")
    words = f"{title} (synthetic data)" if synthetic else title
    return (
        f'<svg viewBox="0 0 {px(drawing.width)} {px(drawing.height)}" role="img" '
        f'aria-label="{escape(words)}">{drawing.body}{mark.body}</svg>'
    )


def px(number: float) -> str:
    """Write a coordinate with a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")


def empty(width: float, height: float, words: str = "no finite figures") -> Drawing:
    """Return a low box that says why nothing is drawn."""
    drawing = Drawing(width, min(height, 64.0))
    drawing.label(width / 2, drawing.height / 2, words, style="none", anchor="middle")
    return drawing


def text_width(words: str, size: float = FONT_PX) -> float:
    """Estimate how wide a text will be, px."""
    return len(words) * size * _CHARACTER


def shorten_text(words: str, width: float) -> str:
    """Cut a text so that it fits into `width` px; the cut shows."""
    fitting = max(int(width / (FONT_PX * _CHARACTER)), 2)
    return words if len(words) <= fitting else words[: fitting - 1].rstrip() + "…"


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
