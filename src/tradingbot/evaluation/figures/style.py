"""How our pictures look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradingbot.domain.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe–Ito: distinguishable with every common colour blindness.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PURPLE, GREY = "#D55E00", "#CC79A7", "#7F7F7F"


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> Figure:
    """Return an empty figure of `width` × `height` inches with its axes, drawn without a screen.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as e:
        raise MissingExtraError("plot", package="matplotlib") from e
    figure = Figure(figsize=(width, height), layout="constrained")
    for axes in figure.subplots(rows, columns, squeeze=False).flat:
        soften(axes)
    return figure


def soften(axes: Axes) -> None:
    """Remove the box, keep a faint grid: the data should be the darkest thing."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.tick_params(labelsize=8)
    axes.title.set_fontsize(10)
