"""How real a synthetic market looks: its stylised facts beside those of real bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import BLUE, GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tradingbot.evaluation.stylised_facts import Fact, StylisedFacts


def draw_facts(
    synthetic: StylisedFacts, real: StylisedFacts, *, title: str, real_label: str
) -> Figure:
    """Draw each fact's median and quartiles, in units of the real median (1 is a perfect match).

    Facts that are missing on either side, or whose real quartiles do not agree in sign (the unit
    would be noise), are left out.
    """
    pairs = {
        name: (made, real.as_dict()[name])
        for name, made in synthetic.as_dict().items()
        if _comparable(made, real.as_dict()[name])
    }
    figure = new_figure(10, 1.0 + 0.27 * len(pairs))
    axes = figure.axes[0]
    for row, (made, seen) in enumerate(pairs.values()):
        unit = seen.median
        _interval(axes, seen, unit, row + 0.14, GREY, real_label if row == 0 else None)
        _interval(axes, made, unit, row - 0.14, BLUE, "synthetic" if row == 0 else None)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(pairs)), [name.replace("_", " ") for name in pairs], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(-1.0, 4.0)
    axes.set_xlabel(
        "value ÷ real median; points: median over symbols, lines: quartiles", fontsize=8
    )
    axes.set_title(title)
    axes.legend(fontsize=8, loc="lower right")
    return figure


def _comparable(made: Fact, seen: Fact) -> bool:
    return math.isfinite(made.median) and math.isfinite(seen.median) and seen.low * seen.high > 0.0


def _interval(
    axes: Axes, fact: Fact, unit: float, row: float, colour: str, label: str | None
) -> None:
    low, high = sorted((fact.low / unit, fact.high / unit))
    axes.plot([low, high], [row, row], color=colour, linewidth=2, alpha=0.7)
    axes.plot([fact.median / unit], [row], "o", color=colour, markersize=4, label=label)
