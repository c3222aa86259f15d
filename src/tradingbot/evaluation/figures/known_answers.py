"""What is attainable on each known-answer market: oracle value with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import BLUE, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AnswerBar:
    """One market's expected and simulated oracle result, in basis points per bar after costs."""

    label: str
    expected_bps: float
    simulated_bps: float
    low_bps: float
    high_bps: float


def draw_known_answers(answers: Sequence[AnswerBar], *, title: str) -> Figure:
    """Draw expected values as bars and simulated ones as points with 95 % intervals."""
    figure = new_figure(10, 1.2 + 0.36 * len(answers))
    axes = figure.axes[0]
    rows = range(len(answers))
    axes.barh(
        rows,
        [a.expected_bps for a in answers],
        color=BLUE,
        alpha=0.45,
        height=0.6,
        label="expected (dynamic programming)",
    )
    middle = [a.simulated_bps for a in answers]
    errors = [
        [max(0.0, a.simulated_bps - a.low_bps) for a in answers],
        [max(0.0, a.high_bps - a.simulated_bps) for a in answers],
    ]
    axes.errorbar(
        middle,
        rows,
        xerr=errors,
        fmt="o",
        color=ORANGE,
        markersize=4,
        capsize=3,
        label="simulated, 95 % interval",
    )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(rows, [a.label for a in answers], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("net basis points per bar and symbol", fontsize=8)
    axes.set_title(title)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, frameon=False)
    return figure
