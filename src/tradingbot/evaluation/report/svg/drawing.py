"""The smallest parts of a chart, as markup that is already escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

# Advance of one character of the page's typeface ÷ its size; errs on the wide side.
_CHARACTER = 0.56
FONT_PX = 11.5


@dataclass(frozen=True)
class Drawing:
    """A finished chart: markup in a box."""

    width: float
    """px"""
    height: float
    """px"""
    body: str
    """SVG elements; every text within is escaped."""


def as_svg(drawing: Drawing, *, title: str, synthetic: bool) -> str:
    """Close a drawing into an `<svg>` that says by itself when its data are synthetic."""
    mark = label(drawing.width, 10, "synthetic", style="mark", anchor="end") if synthetic else ""
    words = f"{title} (synthetic data)" if synthetic else title
    return (
        f'<svg viewBox="0 0 {px(drawing.width)} {px(drawing.height)}" role="img" '
        f'aria-label="{escape(words)}">{drawing.body}{mark}</svg>'
    )


def px(number: float) -> str:
    """Write a coordinate with a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")


def label(x: float, y: float, words: str, *, style: str = "", anchor: str = "") -> str:
    """Return a text; `anchor` is `start` (default), `middle` or `end`."""
    return (
        f'<text x="{px(x)}" y="{px(y)}"{_class(style)}'
        + (f' text-anchor="{anchor}"' if anchor else "")
        + f">{escape(words)}</text>"
    )


def segment(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Return a straight line."""
    return f'<path d="M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}"{_class(style)}/>'


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    style: str,
    *,
    hint: str = "",
    opacity: float = 1,
) -> str:
    """Return a rectangle, with words that show when the pointer rests on it."""
    faded = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    head = (
        f'<rect x="{px(x)}" y="{px(y)}" width="{px(max(width, 0))}" '
        f'height="{px(max(height, 0))}"{_class(style)}{faded}'
    )
    return f"{head}><title>{escape(hint)}</title></rect>" if hint else f"{head}/>"


def dot(x: float, y: float, radius: float, style: str, *, hint: str = "") -> str:
    """Return a filled circle, with words that show when the pointer rests on it."""
    head = f'<circle cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"{_class(style)}'
    return f"{head}><title>{escape(hint)}</title></circle>" if hint else f"{head}/>"


def curve(points: Iterable[tuple[float, float]], style: str) -> str:
    """Return a line through points; nothing where there are none."""
    path = "L".join(f"{px(x)} {px(y)}" for x, y in points)
    return f'<path d="M{path}"{_class(style)}/>' if path else ""


def area(points: Iterable[tuple[float, float]], style: str) -> str:
    """Return a filled outline; nothing where there are no points."""
    path = "L".join(f"{px(x)} {px(y)}" for x, y in points)
    return f'<path d="M{path}Z"{_class(style)}/>' if path else ""


def empty(width: float, height: float, words: str = "no finite figures") -> Drawing:
    """Return a low box that says why nothing is drawn."""
    height = min(height, 64.0)
    words_at = label(width / 2, height / 2, words, style="none", anchor="middle")
    return Drawing(width, height, words_at)


def text_width(words: str, size: float = FONT_PX) -> float:
    """Estimate how wide a text will be, px."""
    return len(words) * size * _CHARACTER


def shorten_text(words: str, width: float) -> str:
    """Cut a text so that it fits into `width` px; the cut shows."""
    fitting = max(int(width / (FONT_PX * _CHARACTER)), 2)
    return words if len(words) <= fitting else words[: fitting - 1].rstrip() + "…"


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
