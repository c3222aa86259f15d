"""One self-contained HTML page: a verdict or a headline first, then sections of evidence.

Every page of the product has this design: light and dark, no other file, no network, one script
that its content security policy names by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.report.blocks import Figure, Section
from tradingbot.evaluation.report.chart import Chart
from tradingbot.evaluation.report.numbers import typeset
from tradingbot.evaluation.report.svg.drawing import as_svg


@dataclass(frozen=True)
class Notice:
    """A framed line at the top."""

    head: str
    words: str
    style: str = ""
    """Class of the frame: none (a warning), `idle` or `explained-alarm`."""


@dataclass(frozen=True)
class PointList:
    """A list at the top."""

    head: str
    points: Sequence[str]
    nothing: str
    """What stands there where it is empty."""


@dataclass(frozen=True)
class Page:
    """Everything that a page shows."""

    title: str
    """Of the browser's tab."""
    kicker: tuple[str, str, str]
    """The small line at the top: before, the name that stands out, after."""
    headline: str
    sections: Sequence[Section]
    footer: str
    word: str = ""
    """GO, CONDITIONAL or NO-GO, large above the headline."""
    top: str = "Verdict"
    """Name of the top among the contents."""
    is_synthetic: bool = False
    notices: Sequence[Notice] = ()
    facts: Sequence[tuple[str, str]] = ()
    """What was tested, on which data and days: name and words, for a reader in a hurry."""
    lead_figures: Sequence[Figure] = ()
    """Three numbers with their intervals, beside the picture."""
    picture: Chart | None = None
    change: PointList | None = None
    """What would change the verdict; the last of the first screen."""
    key_figures: Sequence[Figure] = ()
    lists: Sequence[PointList] = ()
    scope: str = ""
    """What the figures hold for, in a line."""


def render_page(page: Page) -> str:
    """Render a page; every text is escaped, and equal input gives equal bytes.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as e:
        raise MissingExtraError("plot", package="jinja2") from e
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["typeset"] = typeset
    environment.globals["svg"] = partial(as_svg, synthetic=page.is_synthetic)
    script = _source("page.js")
    return environment.from_string(_source("page.html")).render(
        page=page,
        style=_source("chart.css") + _source("page.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )


def _source(name: str) -> str:
    return (files("tradingbot.evaluation") / "templates" / name).read_text("utf-8")
