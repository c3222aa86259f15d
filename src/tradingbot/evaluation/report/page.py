"""One self-contained HTML page per run: sections of text, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.figures.style import as_data_uri

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers are right-aligned."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded_under: str = ""
    """Where given, the table is folded away under this line until the reader opens it."""
    numeric_columns: Sequence[str] = ()
    """Names of columns whose texts are numbers (with units, with intervals): right-aligned too."""


@dataclass(frozen=True)
class Picture:
    """A figure and the words a reader needs to understand it."""

    figure: Figure
    caption: str


@dataclass(frozen=True)
class Section:
    """One question the page answers."""

    title: str
    verdict: str = ""
    """A word or two shown as a badge: `clean`, `proved`, `3 warnings`."""
    good: bool = True
    text: str = ""
    tables: Sequence[Table] = field(default_factory=tuple)
    pictures: Sequence[Picture] = field(default_factory=tuple)


def render_page(
    *, title: str, subtitle: str, facts: Mapping[str, str], sections: Sequence[Section]
) -> str:
    """Render a page that needs no other file and no network.

    Every text is escaped; `facts` (dataset hash, seeds, versions …) stand at the top.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as e:
        raise MissingExtraError("plot", package="jinja2") from e
    source = (files("tradingbot.evaluation") / "templates" / "page.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["data_uri"] = as_data_uri
    environment.tests["numeric"] = lambda cell: isinstance(cell, int | float)
    template = environment.from_string(source)
    return template.render(title=title, subtitle=subtitle, facts=facts, sections=sections)
