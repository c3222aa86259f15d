"""Curves of learning: figures over steps, thinned so that no extreme is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tradingbot.evaluation.report.numbers import plain
from tradingbot.monitoring.dashboard.figures.downsample import pick_points
from tradingbot.monitoring.dashboard.figures.style import Picture, add_line, blank_figure
from tradingbot.monitoring.dashboard.palette import Palette

_COLUMNS = 500
_SAME_FRAC = 1e-9
"""Of their size: numbers that differ by less are the same."""
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
    if room := _room_for_constant(lines.values()):
        figure.update_yaxes(range=room)
    figure.update_layout(showlegend=len(lines) > 1 or bool(best))
    return Picture(figure, f"{y}: {'; '.join(told) or 'nothing yet'}.")


def _room_for_constant(lines: Iterable[Sequence[float]]) -> list[float] | None:
    """Return the axis of numbers that differ by rounding alone, which it would magnify."""
    numbers = np.concatenate([np.array(each, np.float64) for each in lines] or [np.array([])])
    known = numbers[np.isfinite(numbers)]
    size = float(np.abs(known).max(initial=0.0))
    if not len(known) or float(np.ptp(known)) > _SAME_FRAC * size:
        return None
    middle, half = float(known.mean()), 0.1 * size or 1.0
    return [middle - half, middle + half]


def _plain(name: str) -> str:
    return name.replace("<", "‹").replace(">", "›")[:60]
