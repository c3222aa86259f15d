"""Which bars are there: a heat map of symbols against months."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.evaluation.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def draw_coverage(
    symbols: Sequence[str], months: Sequence[str], fractions: NDArray[np.float64], *, title: str
) -> Figure:
    """Draw the share of expected bars that are present.

    Args:
        symbols: N names, drawn from top to bottom.
        months: M labels such as `2024-03`.
        fractions: (N, M) in [0, 1]; NaN where no bar was expected.
        title: What data this is, over which period.
    """
    figure = new_figure(10, min(8.5, 1.6 + 0.12 * len(symbols)))
    axes = figure.axes[0]
    axes.grid(visible=False)
    cells = np.asarray(fractions, dtype=float)
    image = axes.imshow(cells, "RdYlGn", aspect="auto", vmin=0.9, vmax=1, interpolation="nearest")
    axes.set_title(title)
    _label(axes.xaxis, months, at_most=26, rotation=90)
    _label(axes.yaxis, symbols, at_most=72, rotation=0, size=6 if len(symbols) > 40 else 7)
    colours = figure.colorbar(image, ax=axes, shrink=0.5, extend="min")
    colours.set_label("present / expected bars (below 0.9: darkest red)", fontsize=8)
    return figure


def draw_coverage_table(by_month: pl.DataFrame, *, title: str) -> Figure:
    """Draw `Coverage.by_month`: a column `symbol` and one column of fractions per month."""
    months = [column for column in by_month.columns if column != "symbol"]
    fractions = by_month.select(months).fill_null(np.nan).to_numpy()
    return draw_coverage(by_month["symbol"].to_list(), months, fractions, title=title)


def _label(axis: Axis, names: Sequence[str], *, at_most: int, rotation: int, size: int = 7) -> None:
    step = max(1, -(-len(names) // at_most))
    positions = list(range(0, len(names), step))
    labels = [names[i] for i in positions]
    axis.set_ticks(positions, labels=labels, rotation=rotation, fontsize=size)
