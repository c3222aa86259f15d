"""Curves of learning: figures over steps, thinned so that no extreme is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tradingbot.evaluation.report.numbers import plain
from tradingbot.monitoring.dashboard.figures.downsample import pick_points
from tradingbot.monitoring.dashboard.figures.style import Picture, add_line, blank_figure
from tradingbot.monitoring.dashboard.palette import Palette

_COLUMNS = 500
SERIES = ("accent", "warm", "good", "index", "amber", "soft", "ink")
"""Colours of several lines, in turn."""


def draw_curves(
    steps: Sequence[int],
    lines: Mapping[str, Sequence[float]],
    palette: Palette,
    *,
    y: str,
    height_px: int = 230,
    best: Sequence[int] = (),
) -> Picture:
    """Draw one or more figures over environment steps per agent.

    Args:
        steps: (T,) of the updates.
        lines: Name → (T,) numbers; what is not finite is a gap.
        palette: Colours.
        y: What the numbers are, with their unit.
        height_px: Of the picture.
        best: Places that were the best so far.
    """
    figure = blank_figure(palette, height_px=height_px, x="environment steps per agent", y=y)
    told, at = [], np.array(steps)
    for place, (name, numbers) in enumerate(lines.items()):
        series = np.array(numbers, np.float64)
        kept = pick_points(series, _COLUMNS)
        colour = getattr(palette, SERIES[place % len(SERIES)])
        add_line(figure, at[kept], series[kept], _plain(name), colour)
        known = series[np.isfinite(series)]
        if len(known):
            ends = f"from {plain(float(known[0]), 3)} to {plain(float(known[-1]), 3)}"
            told.append(f"{name} {ends}")
    if best and lines:
        places, first = list(best), np.array(next(iter(lines.values())), np.float64)
        add_line(
            *(figure, at[places], first[places], "best so far", palette.good),
            mode="markers",
            marker={"size": 8, "symbol": "star"},
        )
    figure.update_layout(showlegend=len(lines) > 1 or bool(best))
    return Picture(figure, f"{y}: {'; '.join(told) or 'nothing yet'}.")


def _plain(name: str) -> str:
    return name.replace("<", "‹").replace(">", "›")[:60]
