"""What a section of the page is made of; how it looks is the template's business."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.report.svg.drawing import Drawing

Tone = Literal["", "good", "bad", "soft", "strong"]
_LEADING = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Column:
    """Head of a column."""

    name: str
    hint: str = ""
    """Unit and meaning, shown when the pointer rests on it."""
    is_number: bool = True


@dataclass(frozen=True)
class Cell:
    """One cell: what is read, and what it is sorted by."""

    text: str
    key: float | str | None = None
    """None or NaN: always last."""
    bar: float | None = None
    """In [−1, 1]: a small bar from the middle."""
    tone: Tone = ""
    note: str = ""
    """Smaller words below the text: an interval."""
    link: str = ""
    """Id of a section of this page."""

    @property
    def sort_key(self) -> str:
        """Return the key as text for the page; empty where there is nothing to sort by."""
        if self.key is None or (isinstance(self.key, float) and math.isnan(self.key)):
            return ""
        return str(self.key).replace("inf", "Infinity") if isinstance(self.key, float) else self.key


@dataclass(frozen=True)
class Table:
    """Rows that a reader can sort."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str
    is_tall: bool = False
    """Scrolls within itself on a screen; unfolded on paper."""
    sorted_by: str = ""
    """Column by which the rows are already sorted, largest first."""
    folded_under: str = ""
    """Folded away under this line until the reader opens it; unfolded on paper."""


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


def text(words: str, *, tone: Tone = "") -> Cell:
    """Return a cell of words."""
    return Cell(words, words.lower(), tone=tone)


def number(written: str, key: float, **options: object) -> Cell:
    """Return a cell of a number as it is written, sorted by its size."""
    return Cell(written, float(key), **options)  # type: ignore[arg-type]


def table_of(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | float]],
    caption: str,
    *,
    words: Sequence[str] = (),
    folded_under: str = "",
) -> Table:
    """Return a table of plain values.

    Args:
        columns: Their names.
        rows: Texts and numbers; texts that begin with a number are sorted by it.
        caption: What the figures are of.
        words: Names of columns that hold no numbers.
        folded_under: Line that folds it away; not folded by default.
    """
    heads = [Column(name, is_number=name not in words) for name in columns]
    cells = [
        [
            number(f"{value:,}", value) if not isinstance(value, str) else _cell_of(value, head)
            for value, head in zip(row, heads, strict=True)
        ]
        for row in rows
    ]
    return Table(heads, cells, caption, folded_under=folded_under)


def _cell_of(words: str, head: Column) -> Cell:
    if not head.is_number:
        return text(words)
    found = _LEADING.match(words.replace(",", "").replace("\u2212", "-"))
    return Cell(words, float(found.group()) if found else None)
