"""Colours of the product's pages, read from the style sheet that reports have: there is one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Theme = Literal["light", "dark"]
_PAIR = re.compile(r"--([a-z]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)")


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, `#rrggbb`."""

    ground: str
    paper: str
    ink: str
    soft: str
    line: str
    faint: str
    accent: str
    warm: str
    good: str
    amber: str
    index: str
    pos: str
    neg: str

    def tint(self, colour: str, opacity: float) -> str:
        """Return a colour that lets the ground through, `rgba(…)`."""
        red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        return f"rgba({red},{green},{blue},{opacity:g})"


@cache
def palette_of(theme: Theme) -> Palette:
    """Return the colours of a theme."""
    sheet = files("tradingbot.evaluation").joinpath("templates", "chart.css").read_text("utf-8")
    place = 1 if theme == "light" else 2
    return Palette(**{found[1]: found[place + 1] for found in _PAIR.finditer(sheet)})
