"""Tables of the page: cells that can be sorted, columns that know how a record is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tradingbot.evaluation.report.numbers import finite, format_count, format_interval, plain
from tradingbot.evaluation.statistics.interval import Interval

Tone = Literal["", "good", "bad", "soft", "strong"]
_LEADING = re.compile(r"[+-]?\d+(\.\d+)?")


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


def text(words: str, *, tone: Tone = "") -> Cell:
    """Return a cell of words."""
    return Cell(words, words.lower(), tone=tone)


@dataclass(frozen=True)
class Column:
    """Head of a column, and how the record of a row is written in it."""

    name: str
    hint: str = ""
    """Unit and meaning, shown when the pointer rests on it."""
    is_number: bool = True
    write: Callable[[Any], Cell] = text
    is_barred: bool = False
    """Every number has a bar beside it, relative to the largest of the column."""


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
    filters: Sequence[str] = ()
    """Columns of words of which a reader can choose one value."""
    is_brief_on_paper: bool = False
    """Paper shows the first 40 rows alone: the caption says so."""

    @property
    def choices(self) -> list[tuple[str, int, list[str]]]:
        """Return name, place and values of each column of `filters` that has more than one."""
        names = [column.name for column in self.columns]
        places = [(name, names.index(name)) for name in self.filters]
        found = [(name, at, sorted({row[at].text for row in self.rows})) for name, at in places]
        return [each for each in found if len(each[2]) > 1]


def text_column(name: str, read: str | Callable[[Any], Cell], hint: str = "") -> Column:
    """Return a column of words: a field of the record, or what `read` makes of the record."""
    if callable(read):
        return Column(name, hint, is_number=False, write=read)
    return Column(name, hint, is_number=False, write=lambda record: text(getattr(record, read)))


def column(
    name: str,
    field: str | Callable[[Any], Cell],
    hint: str = "",
    write: Callable[..., str] = plain,
    *,
    is_barred: bool = False,
    is_loss_bad: bool = False,
    **form: Any,
) -> Column:
    """Return a column of numbers, sorted by their size.

    Args:
        name: Its head.
        field: Of the record: a number, or an interval, whose ends stand below the estimate; or
            what makes the cell of a record.
        hint: Unit and meaning.
        write: How the number is written: one of `report.numbers`.
        is_barred: With a bar beside each number.
        is_loss_bad: Numbers below 0 have the tone `bad`.
        form: Options of `write`: `digits`, `signed`.
    """

    def written(record: Any) -> Cell:
        if callable(field):
            return field(record)
        found = getattr(record, field)
        size, note = found, ""
        if isinstance(found, Interval):
            size, note = found.estimate, format_interval(found)
        tone: Tone = "bad" if is_loss_bad and size < 0 else ""
        key = 0.0 if size is None else float(size)
        return Cell(write(size, **form), key, tone=tone, note=note)

    return Column(name, hint, write=written, is_barred=is_barred)


def record_table(
    columns: Sequence[Column],
    records: Sequence[object],
    caption: str,
    *,
    folded: str = "",
    **options: Any,
) -> Table:
    """Return a table with a row per record.

    Args:
        columns: How a record is written in each.
        records: One a row.
        caption: What the figures are of.
        folded: What the records are, `windows`: folded away under `Table of 12 windows`.
        options: Others of `Table`.
    """
    if folded:
        options["folded_under"] = f"Table of {format_count(len(records), folded)}"
    rows = [[head.write(record) for head in columns] for record in records]
    for place, head in enumerate(columns):
        if head.is_barred:
            _add_bars(rows, place)
    return Table(columns, rows, caption, **options)


def _add_bars(rows: list[list[Cell]], place: int) -> None:
    sizes = [float(row[place].key or 0.0) for row in rows]
    largest = max(map(abs, finite(sizes)), default=0) or 1.0
    for row, size in zip(rows, sizes, strict=True):
        row[place] = replace(row[place], bar=size / largest if math.isfinite(size) else None)


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
            _cell_of(value, head) if isinstance(value, str) else Cell(f"{value:,}", float(value))
            for value, head in zip(row, heads, strict=True)
        ]
        for row in rows
    ]
    return Table(heads, cells, caption, folded_under=folded_under)


def _cell_of(words: str, head: Column) -> Cell:
    if not head.is_number:
        return text(words)
    found = _LEADING.match(words.replace(",", "").replace("\u2212", "-"))
    estimate, bracket, ends = words.partition(" [")
    return Cell(estimate, float(found.group()) if found else None, note=bracket.strip() + ends)
