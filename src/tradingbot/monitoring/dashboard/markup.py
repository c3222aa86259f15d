"""Records as accessible HTML: tables, figures, meters and banners; every text is escaped.

Tables and figures are those of the reports (`evaluation.report`), so that a number is written in
one way wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import count, percent, plain, typeset
from tradingbot.evaluation.report.table import Cell, Column, Table
from tradingbot.monitoring.dashboard.palette import Palette
from tradingbot.monitoring.dashboard.sources.breaker_distance import BreakerDistance

_LONGEST = 160
"""Characters of a name that are shown; the whole of it stands in its title."""
_MARKDOWN = frozenset("\\`*_{}[]()<>#+-.!|~$:")
_THIN = "\u202f"
"""Between digits; it is white space and stays."""
_WHOLE = 2000
"""Of a sentence."""
_FEW_COLUMNS = 3
"""Fit beside each other on a telephone; rows of more become cards there."""


def style_sheet(palette: Palette) -> str:
    """Return the style element of every page."""
    names = vars(palette)
    variables = "".join(f"--tb-{name}:{colour};" for name, colour in names.items())
    sheet = files("tradingbot.monitoring.dashboard").joinpath("style.css").read_text("utf-8")
    return f"<style>:root{{{variables}}}\n{sheet}</style>"


def banner(tone: str, word: str, headline: str, points: Sequence[str]) -> str:
    """Return the answer at the top: a word, a sentence, and what it rests on.

    Args:
        tone: `good`, `amber`, `warm` or `soft`.
        word: Large.
        headline: A sentence.
        points: Reasons, the strongest first.
    """
    head = text(typeset(headline), longest=_WHOLE)
    items = "".join(f"<li>{text(typeset(each), longest=_WHOLE)}</li>" for each in points)
    listed = f"<ul>{items}</ul>" if items else ""
    return (
        f'<section class="tb-banner tb-{escape(tone)}" role="status" aria-live="polite">'
        f'<p class="tb-word">{escape(word)}</p><p class="tb-head">{head}</p>{listed}'
        "</section>"
    )


def figures(found: Sequence[Figure], *, mark: str = "") -> str:
    """Return numbers with their names, and what they are of.

    Args:
        found: In their order.
        mark: Name of the first number for scripts that wait for it; shown nowhere.
    """
    parts = []
    for place, each in enumerate(found):
        data = f' data-mark="{escape(mark)}"' if mark and place == 0 else ""
        parts.append(
            f'<div class="tb-{escape(each.tone or "plain")}"><dt>{text(each.name)}</dt>'
            f'<dd class="tb-value"{data}>{text(each.number)}</dd>'
            f'<dd class="tb-meaning">{text(typeset(each.words))}</dd></div>'
        )
    return f'<dl class="tb-figures">{"".join(parts)}</dl>'


def table(found: Table, *, nothing: str) -> str:
    """Return a table; where it has no row, what that means."""
    caption = f"<caption>{text(typeset(found.caption))}</caption>"
    if not found.rows:
        return f'<div class="tb-nothing">{text(nothing, longest=_WHOLE)}</div>'
    heads = "".join(
        f'<th scope="col" role="columnheader" title="{attribute(head.hint)}" '
        f'class="{_kind(head.is_number)}">{text(head.name)}</th>'
        for head in found.columns
    )
    rows = []
    for row in found.rows:
        cells = [
            _cell(cell, head, is_first=place == 0)
            for place, (cell, head) in enumerate(zip(row, found.columns, strict=True))
        ]
        rows.append(f'<tr role="row">{"".join(cells)}</tr>')
    label = attribute(found.caption)
    return (
        f'<div class="tb-scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="tb-table{" tb-many" * (len(found.columns) > _FEW_COLUMNS)}" role="table">'
        f'{caption}<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table></div>'
    )


def meters(found: Sequence[BreakerDistance]) -> str:
    """Return a bar for each limit: how much of it is used, in words and in size."""
    if not found:
        return '<div class="tb-nothing">No limits are known here: only the journal is.</div>'
    return f'<div class="tb-meters">{"".join(map(_meter, found))}</div>'


def note(words: str, *, tone: str = "soft") -> str:
    """Return a line of small words."""
    return f'<p class="tb-note tb-{escape(tone)}">{text(typeset(words), longest=_WHOLE)}</p>'


def nothing(words: str) -> str:
    """Return what stands where there is nothing to show: why, and what to do."""
    return f'<div class="tb-nothing">{text(words, longest=_WHOLE)}</div>'


def progress(rows: Sequence[tuple[str, int, int, int]]) -> str:
    """Return a bar for each phase: gates that hold, that were measured, and all."""
    parts = []
    for phase, passed, measured, total in rows:
        words = f"{passed} of {total} hold, {measured} measured"
        tone = "good" if passed == total else "amber" if passed else "warm"
        share = passed / total * 100 if total else 0.0
        parts.append(
            f'<div class="tb-meter tb-{tone}"><span class="tb-name">{text(phase)}</span>'
            f'<span class="tb-track" role="meter" aria-label="{attribute(phase)}" '
            f'aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{passed}" '
            f'aria-valuetext="{words}"><span class="tb-used" style="width:{share:.1f}%"></span>'
            f'</span><span class="tb-amount">{words}</span></div>'
        )
    return f'<div class="tb-meters tb-two">{"".join(parts)}</div>'


def plain_text(words: str) -> str:
    """Return a text for what reads Markdown: nothing in it means anything."""
    return "".join(f"\\{each}" if each in _MARKDOWN else each for each in _printable(words)[:80])


def text(words: object, *, longest: int = _LONGEST) -> str:
    """Escape a text; one that is very long is cut, and stands whole in its title."""
    whole = _printable(str(words))
    if len(whole) <= longest:
        return f"<bdi>{escape(whole)}</bdi>" if not whole.isascii() else escape(whole)
    return f'<bdi title="{escape(whole)}">{escape(whole[:longest])}…</bdi>'


def attribute(words: str) -> str:
    """Escape a text that stands in an attribute."""
    return escape(_printable(words)[:_WHOLE])


def _printable(words: str) -> str:
    """Keep a text on one line and in its own direction: what is no character is a space."""
    return "".join(each if each.isprintable() or each == _THIN else " " for each in words)


def distance_words(each: BreakerDistance) -> str:
    """Write how much of a limit is used."""
    if each.unit == "switch":
        return "pressed" if each.is_tripped else "not pressed"
    if each.unit == "fraction":
        return f"{percent(each.used, 2)} of {percent(each.limit, 1)}"
    limit = ", no limit" if each.limit >= 1e9 else f" of {count(each.limit)}"
    return f"{plain(each.used, 0)}{limit}"


def _meter(each: BreakerDistance) -> str:
    share = each.used_frac
    tone = "warm" if each.is_tripped else "amber" if share >= 0.7 else "good"
    words = "TRIPPED, " * each.is_tripped + distance_words(each)
    return (
        f'<div class="tb-meter tb-{tone}"><span class="tb-name">{text(each.name)}</span>'
        f'<span class="tb-track" role="meter" aria-label="{attribute(each.name)}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{share * 100:.0f}" '
        f'aria-valuetext="{attribute(words)}">'
        f'<span class="tb-used" style="width:{share * 100:.1f}%"></span></span>'
        f'<span class="tb-amount">{text(words)}</span>'
        f'<span class="tb-meaning">{text(each.words)}</span></div>'
    )


def _cell(cell: Cell, head: Column, *, is_first: bool) -> str:
    # Roles keep it a table where a narrow screen lays its rows out as cards.
    tag, scope = ("th", ' scope="row" role="rowheader"') if is_first else ("td", ' role="cell"')
    note_ = f"<small>{text(typeset(cell.note))}</small>" if cell.note else ""
    kind = _kind(head.is_number) + (f" tb-{cell.tone}" if cell.tone else "")
    told = f"{text(typeset(cell.text))}{note_}"
    return f'<{tag}{scope} class="{kind}" data-head="{attribute(head.name)}">{told}</{tag}>'


def _kind(is_number: bool) -> str:
    return "tb-number" if is_number else "tb-text"
