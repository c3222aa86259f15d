"""What a network sees: one symbol's features over time, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_feature_map(
    closed_at: NDArray[np.datetime64],
    features: NDArray[np.float32],
    valid: NDArray[np.bool_],
    names: Sequence[str],
    *,
    title: str,
    unit: str,
) -> Figure:
    """Draw scaled features of one symbol.

    Args:
        closed_at: (T,) closing times, UTC.
        features: (T, F) scaled features.
        valid: (T,) False during warm-up and where the bar is absent (drawn blank).
        names: F feature names.
        title: Symbol and data.
        unit: What a scaled value of 1 means.
    """
    figure = new_figure(10, 0.9 + 0.19 * len(names))
    axes = figure.axes[0]
    axes.grid(visible=False)
    shown = np.where(valid[:, None], features, np.nan).T
    image = axes.imshow(
        shown, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3, interpolation="nearest"
    )
    ticks = np.linspace(0, len(closed_at) - 1, 8).astype(int)
    axes.set_xticks(ticks, [str(closed_at[i])[:10] for i in ticks], fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title(title)
    figure.colorbar(image, ax=axes, shrink=0.7, extend="both").set_label(unit, fontsize=8)
    return figure
