"""How every picture of the dashboard looks: the product's colours, labelled axes, no ornament."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.palette import Palette

_FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
CONFIG: dict[str, Any] = {"displayModeBar": False, "responsive": True, "scrollZoom": False}
"""Of Plotly in the browser."""
_TICKS = 6


@dataclass(frozen=True)
class Picture:
    """A figure, and the same in words for those who do not see it."""

    figure: Any
    """`plotly.graph_objects.Figure`."""
    alt: str


def blank_figure(palette: Palette, *, height_px: int = 300, x: str = "", y: str = "") -> Any:
    """Return a figure with axes and nothing in it.

    Args:
        palette: Colours of the theme.
        height_px: Of the whole.
        x: What the horizontal axis is, with its unit.
        y: What the vertical axis is, with its unit.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    axis = {
        "gridcolor": palette.line,
        "linecolor": palette.line,
        "zerolinecolor": palette.soft,
        "tickfont": {"color": palette.soft, "size": 12},
        "automargin": True,
        "fixedrange": True,
        "exponentformat": "none",
        "separatethousands": True,
    }
    # With a standoff the title keeps clear of labels, however long they are.
    title = {"font": {"color": palette.soft, "size": 12}, "standoff": 8}
    figure.update_layout(
        height=height_px,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": _FONT, "color": palette.ink, "size": 13},
        hoverlabel={"bgcolor": palette.paper, "font": {"color": palette.ink}},
        hovermode="x unified",
        separators=".\u202f",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        xaxis={**axis, "showgrid": False, "zeroline": False, "title": {"text": x, **title}},
        yaxis={**axis, "title": {"text": y, **title}},
    )
    return figure


def mark_times(figure: Any, at: NDArray[np.datetime64], zone: Zone) -> None:
    """Label an axis that counts bars by their closes: nights and week-ends take no room."""
    if not len(at):
        return
    places = np.arange(0, len(at), max(1, -(-(len(at) - 1) // (_TICKS - 1))))
    shown = time_labels(zone.moments(at[places]))
    figure.update_xaxes(tickvals=places.tolist(), ticktext=shown, range=[-0.5, len(at) - 0.5])


def time_labels(moments: Sequence[str]) -> list[str]:
    """Return labels of `2025-12-30 16:00 EST`, in narrow lines and no two the same.

    Days, with the year below where it is another; with the hour above where a day has several.
    """
    days, hours = [each[:10] for each in moments], [each[11:16] for each in moments]
    years = [day[:4] if not place or day[:4] != days[place - 1][:4] else ""
             for place, day in enumerate(days)]  # fmt: skip
    lines = [[day[5:], year] for day, year in zip(days, years, strict=True)]
    if len(set(days)) < len(days):
        lines = [[hour, *rest] for hour, rest in zip(hours, lines, strict=True)]
    if len({each[:16] for each in moments}) < len(moments):
        # In autumn a clock shows an hour twice: its abbreviation tells which.
        return [each.replace(" ", "<br>", 1) for each in moments]
    return ["<br>".join(each for each in some if each) for some in lines]


def add_line(
    figure: Any,
    x: NDArray[Any],
    y: NDArray[Any],
    name: str,
    colour: str,
    **options: Any,
) -> None:
    """Draw a line through (T,) points; what is not finite is a gap.

    Arrays travel as bytes; a list would be looked at number by number, here and in the browser.

    Args:
        figure: Plotly's.
        x: (T,)
        y: (T,)
        name: Of the line.
        colour: Of the line.
        options: Of Plotly's scatter.
    """
    import plotly.graph_objects as go

    line = {"color": colour, "width": 1.8, **options.pop("line", {})}
    known = np.where(np.isfinite(y), y, np.nan)
    if "mode" not in options:
        options |= {"mode": "lines+markers", "marker": {"size": 4}} if _has_lonely(y) else {}
    mode = options.pop("mode", "lines")
    figure.add_trace(go.Scatter(x=x, y=known, name=name, mode=mode, line=line, **options))


def _has_lonely(y: NDArray[Any]) -> bool:
    """Tell whether a point stands between gaps, where a line alone would show nothing."""
    known = np.concatenate([[False], np.isfinite(y), [False]])
    return bool((known[1:-1] & ~known[:-2] & ~known[2:]).any())
