"""A study as a page: the best settings, history, importance, slices, what it holds for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from tradingbot import __version__
from tradingbot.evaluation.report.blocks import Code, Section
from tradingbot.evaluation.report.chart import HALF_PX, Chart, Charts, full_chart
from tradingbot.evaluation.report.numbers import plain
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.svg import frame
from tradingbot.evaluation.report.svg.bars import row_chart
from tradingbot.evaluation.report.svg.drawing import Drawing, empty
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Table, table_of
from tradingbot.tuning.evidence import TuningEvidence
from tradingbot.tuning.study_tables import HistoryRow, SettingSlice, StudyTables

_SCORE = "alpha Sharpe, first half of validation"
_STYLES = {"finished": "agents", "pruned": "unsure", "failed": "unsure"}
_HEIGHT_PX = 260.0


def render_study(evidence: TuningEvidence, tables: StudyTables) -> str:
    """Render the page of a study.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    history = full_chart(
        "Score of every trial, and the best so far",
        partial(_draw_history, tables.history),
        "Dots: trials; pale ones were given up early. Line: best finished trial so far.",
    )
    rows = [(row.key, row.share_frac, f"{row.share_frac:.0%}") for row in tables.importance]
    importance = full_chart(
        "What the score depends on",
        partial(row_chart, rows),
        "Share of the variance among the better trials (PED-ANOVA); of these trials alone.",
    )
    slices = Charts(tuple(_slice_chart(each) for each in tables.slices), "half")
    sections = [
        Section("best", "What was best", evidence.words, [_retrained(evidence)]),
        Section("history", "Trials", evidence.counts, [history, _trials(tables.history)]),
        Section("importance", "Importance", "Which settings mattered.", [importance]),
        Section("slices", "Slices", "Every trial along every setting.", [slices]),
        Section("again", "How to do it again", evidence.terms, [Code("Command", evidence.command)]),
    ]
    kind = "synthetic market" if evidence.synthetic else "observed bars"
    return render_page(
        Page(
            title=f"Tuning {evidence.study}",
            top="Answer",
            kicker=("Study", evidence.study, f" · {kind}, simulated trading"),
            headline=evidence.words,
            is_synthetic=evidence.synthetic,
            scope=f"{evidence.label}. {evidence.terms}",
            sections=sections,
            footer=f"tradingbot {__version__}",
        )
    )


def _draw_history(rows: Sequence[HistoryRow], *, width: float) -> Drawing:
    known = [row for row in rows if row.score is not None]
    if not known:
        return empty(width, _HEIGHT_PX)
    drawing = Drawing(width, _HEIGHT_PX)
    axes = (Axis("trial", holds=(0.0,)), Axis(_SCORE, holds=(0.0,)))
    scores = [row.score or 0.0 for row in known]
    x, y = frame.draw_axes(drawing, [float(row.trial) for row in known], scores, axes)
    best = [(x.at(row.trial), y.at(row.best)) for row in rows if row.best is not None]
    steps = best[:1]
    for before, after in pairwise(best):
        steps += [(after[0], before[1]), after]  # the best stays so until a better one ended
    drawing.curve(steps, "line agents")
    for row, score in zip(known, scores, strict=True):
        hint = f"trial {row.trial}: {row.state}, {plain(score)}"
        drawing.dot(x.at(row.trial), y.at(score), 3.2, _STYLES[row.state], hint=hint)
    return drawing


def _slice_chart(slice_: SettingSlice) -> Chart:
    drawing = _draw_slice(slice_, width=HALF_PX)
    return Chart(slice_.key, drawing, "Score over the setting; pale dots were given up early.")


def _draw_slice(slice_: SettingSlice, *, width: float) -> Drawing:
    if not slice_.points:
        return empty(width, _HEIGHT_PX)
    choices = sorted({str(point.value) for point in slice_.points})
    is_choice = slice_.scale == "choices"
    places = [
        float(choices.index(str(point.value))) if is_choice else float(point.value)
        for point in slice_.points
    ]
    words = f"{slice_.key}: {', '.join(choices)}" if is_choice else slice_.key
    axes = (Axis(words, is_logarithmic=slice_.scale == "log"), Axis(_SCORE))
    drawing = Drawing(width, _HEIGHT_PX)
    x, y = frame.draw_axes(drawing, places, [point.score for point in slice_.points], axes)
    for place, point in zip(places, slice_.points, strict=True):
        hint = f"trial {point.trial}: {point.value} → {plain(point.score)}"
        drawing.dot(x.at(place), y.at(point.score), 3.2, _STYLES[point.state], hint=hint)
    return drawing


def _retrained(evidence: TuningEvidence) -> Table:
    rows: list[list[str | float]] = [
        [each.run, each.trial, plain(each.trial_score), plain(each.score), each.agents]
        for each in evidence.retrained
    ]
    if evidence.untuned is not None:
        before = evidence.untuned
        rows.append([before.run, "not tuned", "", plain(before.score), before.agents])
    columns = ("run", "trial", "score as a trial", "score trained again", "agents that trade")
    caption = (
        f"Scores: {_SCORE}, mean over agents, net of costs ({evidence.costs}). "
        f"{evidence.choice or 'The first is the preset'}."
    )
    return table_of(columns, rows, caption, words=("run",))


def _trials(rows: Sequence[HistoryRow]) -> Table:
    found: list[list[str | float]] = [
        [
            row.trial,
            row.state,
            plain(row.score),
            plain(row.took_s, 1),
            ", ".join(f"{key}={value}" for key, value in row.settings.items()),
        ]
        for row in sorted(rows, key=lambda row: -(row.score if row.score is not None else -9e9))
    ]
    columns = ("trial", "state", "score", "seconds", "settings")
    folded = f"Table of {len(found)} trials"
    return table_of(columns, found, _SCORE, words=("state", "settings"), folded_under=folded)
