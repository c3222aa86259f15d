"""Charts of the page: a drawing, or several side by side, with the words to read them by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.report.svg.drawing import Drawing

# Widths at which charts are drawn: the page shows them at about this size, so that text stays text.
FULL_PX, HALF_PX, THIRD_PX, NARROW_PX = 920.0, 450.0, 300.0, 390.0


@dataclass(frozen=True)
class Chart:
    """A drawing and the words a reader needs to understand it."""

    title: str
    drawing: Drawing
    caption: str = ""
    narrow: Drawing | None = None
    """The same for a small screen; the drawing itself is made smaller where None."""


@dataclass(frozen=True)
class Charts:
    """Charts side by side, as many as fit."""

    charts: Sequence[Chart]
    size: Literal["full", "half", "third"] = "half"


def full_chart(title: str, draw: Callable[..., Drawing], caption: str = "") -> Charts:
    """Return one chart over the whole width, `draw(width=…)`, and the same for a small screen."""
    return Charts((Chart(title, draw(width=FULL_PX), caption, draw(width=NARROW_PX)),), "full")
