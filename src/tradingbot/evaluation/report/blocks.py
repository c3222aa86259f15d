"""What a section of the page is made of; how it looks is the template's business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.evaluation.report.chart import Charts
from tradingbot.evaluation.report.table import Table, Tone


@dataclass(frozen=True)
class Words:
    """Paragraphs."""

    paragraphs: Sequence[str]
    tone: Tone = ""


@dataclass(frozen=True)
class Points:
    """A list under a line."""

    head: str
    points: Sequence[str]
    tone: Tone = ""


@dataclass(frozen=True)
class Figure:
    """One number, its name, and what it means."""

    name: str
    number: str
    words: str
    tone: Tone = ""


@dataclass(frozen=True)
class Figures:
    """Numbers that are read one by one, each explained."""

    figures: Sequence[Figure]
    is_explained: bool = False
    """Long explanations: one below the other."""


@dataclass(frozen=True)
class Code:
    """A command to be copied."""

    words: str
    code: str


Block = Table | Charts | Words | Points | Figures | Code


@dataclass(frozen=True)
class Section:
    """One question the page answers."""

    id: str
    """Anchor; the gates' evidence refers to it."""
    title: str
    finding: str
    """The answer in a sentence; why it was left out where there is no answer."""
    blocks: Sequence[Block] = ()
    is_left_out: bool = False
    badge: str = ""
    """A word or two beside the title: `proved`, `3 warnings`."""
    tone: Tone = ""
    """Of the badge."""

    @property
    def kinds(self) -> list[tuple[str, Block]]:
        """Return each block with the name that the template knows it by."""
        return [(type(block).__name__.lower(), block) for block in self.blocks]
