"""Heat maps: a number in every cell of a grid, readable without telling red from green."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.report.numbers import typeset
from tradingbot.monitoring.dashboard.figures.style import Picture, blank_figure
from tradingbot.monitoring.dashboard.palette import Palette

MOST_WRITTEN = 24
"""Columns up to which every cell has its number written in it; else one points at it."""


@dataclass(frozen=True)
class HeatScale:
    """What the axes and the numbers of a heat map are."""

    x: str
    """What columns are."""
    y: str
    """What rows are."""
    unit: str
    """Of the numbers."""
    form: str = ".0%"
    """How a number is written, as `format` takes it."""
    is_signed: bool = False
    """Colours part at 0; else they begin there."""


def draw_heat_map(
    cells: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    scale: HeatScale,
    palette: Palette,
) -> Picture:
    """Draw cells (R, C) with their numbers.

    Args:
        cells: What is not finite stays empty.
        rows: R names.
        columns: C names.
        scale: What they are.
        palette: Colours.
    """
    import plotly.graph_objects as go

    figure = blank_figure(palette, height_px=90 + 30 * max(len(rows), 3), x=scale.x, y=scale.y)
    largest = float(np.nanmax(np.abs(cells))) if np.isfinite(cells).any() else 1.0
    low = [0.0, palette.neg] if scale.is_signed else [0.0, palette.paper]
    middle = [[0.5, palette.paper]] if scale.is_signed else []
    texts = [
        [typeset(format(n, scale.form)) if math.isfinite(n) else "" for n in row]
        for row in cells.tolist()
    ]
    figure.add_trace(
        go.Heatmap(
            z=np.where(np.isfinite(cells), cells, np.nan).tolist(),
            x=list(range(len(columns))),
            y=list(range(len(rows))),
            zmin=-largest if scale.is_signed else 0.0,
            zmax=largest or 1.0,
            colorscale=[low, *middle, [1.0, palette.pos]],
            showscale=False,
            text=texts,
            texttemplate="%{text}" if len(columns) <= MOST_WRITTEN else "",
            textfont={"size": 11},
            xgap=1,
            ygap=1,
            hovertemplate=f"%{{text}} {scale.unit}<extra></extra>",
        )
    )
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=_plain(columns))
    figure.update_yaxes(showgrid=False, zeroline=False)
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=_plain(rows), autorange="reversed"
    )
    return Picture(
        figure,
        f"Heat map of {len(rows)} by {len(columns)} cells: {scale.y} by {scale.x}, {scale.unit}.",
    )


def _plain(names: Sequence[str]) -> list[str]:
    """Keep names text: Plotly would read some HTML in them."""
    return [typeset(name.replace("<", "‹").replace(">", "›")[:40]) for name in names]
