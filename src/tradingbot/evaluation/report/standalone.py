"""A chart as an SVG document of its own: with the colours of the page, light and dark."""

from __future__ import annotations

from importlib.resources import files

from tradingbot.evaluation.report.svg.drawing import Drawing, as_svg, px

_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'


def standalone_svg(drawing: Drawing, *, title: str, synthetic: bool) -> str:
    """Return a drawing that any browser or notebook shows without the page around it.

    Args:
        drawing: The chart.
        title: Read by screen readers.
        synthetic: Whether it must say so.
    """
    style = (files("tradingbot.evaluation") / "templates" / "chart.css").read_text("utf-8")
    size = f'width="{px(drawing.width)}" height="{px(drawing.height)}"'
    body = as_svg(drawing, title=title, synthetic=synthetic)
    opened = body.replace("<svg ", f"<svg {_NAMESPACE} {size} ", 1)
    head, rest = opened.split(">", 1)
    return f"{head}><style>{style}</style>{rest}"
