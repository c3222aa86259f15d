"""Evaluation: is a policy worth anything? The verdict, its gates, and what they rest on."""

from __future__ import annotations

import streamlit as st

from tradingbot.evaluation.dossier.dossier import Header
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.numbers import (
    count,
    format_interval,
    percent,
    plain,
    with_interval,
)
from tradingbot.evaluation.report.numbers import share as share_words
from tradingbot.evaluation.report.sections.gates import gates_section
from tradingbot.evaluation.report.sections.league import league_section
from tradingbot.evaluation.report.table import Cell, Table, column, record_table, text, text_column
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.figures.judged import (
    draw_costs,
    draw_seeds,
    draw_spaces,
    draw_windows,
)
from tradingbot.monitoring.dashboard.moments import read_moment
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.sources.evaluations import (
    JudgedRun,
    SpaceRow,
    progress_by_phase,
)

_NOTHING = "No run was evaluated yet. Evaluate one: tradingbot evaluate RUN"
_TONES = {"GO": "good", "CONDITIONAL": "amber", "NO-GO": "warm"}


def show_evaluation(frame: Frame) -> None:
    """Show the page."""
    st.header("Evaluation", anchor=False)

    @st.fragment(run_every=max(frame.refresh_s, 2.0))
    def page() -> None:
        runs = frame.watched.runs.summaries()
        evaluated = [run.id for run in runs if run.is_evaluated]
        if evaluated:
            chosen = str(st.selectbox("Evaluated run", evaluated, key="evaluated"))
            _show_evaluation(frame, frame.watched.evaluations.read(chosen))
        else:
            st.html(markup.nothing(frame.with_workspace(_NOTHING)))
        _show_spaces(frame, frame.watched.evaluations.spaces(runs))

    page()


def _show_evaluation(frame: Frame, found: JudgedRun) -> None:
    memo, dossier = found.memo, found.dossier
    if memo is not None:
        reasons = memo.reasons[:3] + memo.counter_evidence[:2]
        st.html(markup.banner(_TONES[memo.verdict], memo.verdict, memo.headline, reasons))
    if found.problem:
        st.html(markup.note(frame.with_workspace(f"No verdict: {found.problem}"), tone="warm"))
    if dossier is None:
        return
    head, test = dossier.header, dossier.test
    st.html(
        markup.note(
            f"{_data_words(head)}; test {test.period}; costs {head.costs}; seed {head.seed}; "
            f"evaluated {frame.zone.moment(read_moment(head.evaluated_at))}."
        )
    )
    if memo is not None:
        st.markdown("**Gates by phase**")
        st.html(
            markup.progress(
                [(p.phase, p.passed, p.measured, len(p.gates)) for p in progress_by_phase(memo)]
            )
        )
        with st.expander("Every gate"):
            _show_section(gates_section(memo, {}))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Walk-forward**")
        if dossier.walk_forward is not None and dossier.walk_forward.windows:
            frame.show(draw_windows(dossier.walk_forward, frame.palette), "windows")
            share = dossier.walk_forward.share_positive
            words = f"Windows with alpha above 0, of those traded: {share_words(share)}."
            st.html(markup.note(words))
        else:
            st.html(markup.nothing(frame.with_workspace(_why(found, "walk_forward"))))
        st.markdown("**Seeds**")
        if dossier.seeds is not None and dossier.seeds.rows:
            frame.show(draw_seeds(dossier.seeds, frame.palette), "seeds")
            st.html(
                markup.note(
                    f"{count(dossier.seeds.steps_per_agent)} steps per agent each; test part."
                )
            )
        else:
            st.html(markup.nothing(frame.with_workspace(_why(found, "seeds"))))
    with right:
        st.markdown("**Costs by delay**")
        if dossier.sensitivity is not None and dossier.sensitivity.surface_bps:
            frame.show(draw_costs(dossier.sensitivity, frame.palette), "costs")
            st.html(
                markup.note(f"Mean {dossier.sensitivity.judged}, bp per bar, on the test part.")
            )
        else:
            st.html(markup.nothing(frame.with_workspace(_why(found, "sensitivity"))))
    st.markdown("**League table**")
    _show_section(league_section(dossier))


def _data_words(head: Header) -> str:
    is_said = not head.synthetic or "synthetic" in head.label
    return head.label if is_said else f"{head.label}, synthetic"


def _why(found: JudgedRun, analysis: str) -> str:
    left_out = {} if found.dossier is None else dict(found.dossier.left_out)
    return left_out.get(analysis) or f"Not made: tradingbot evaluate {found.run}"


def _show_section(section: Section) -> None:
    """Show the tables of a section of the report."""
    st.html(markup.note(section.finding))
    for block in section.blocks:
        if isinstance(block, Table):
            st.html(markup.table(block, nothing=section.finding))


def _show_spaces(frame: Frame, rows: list[SpaceRow]) -> None:
    st.markdown("**Discrete against continuous**")
    if not rows:
        words = "No run is finished: tradingbot train --preset quick"
        st.html(markup.nothing(frame.with_workspace(words)))
        return
    left, right = st.columns([1, 2], gap="medium")
    with left:
        frame.show(draw_spaces(rows, frame.palette), "spaces")
    with right:
        st.html(markup.table(list_spaces(rows), nothing=""))
    kinds = {row.action_space for row in rows}
    if len(kinds) < 2:
        words = (
            f"All finished runs are {', '.join(kinds)}: train another to compare, "
            "tradingbot train --set task.rules.action.space=discrete"
        )
        st.html(markup.note(frame.with_workspace(words)))


def list_spaces(rows: list[SpaceRow]) -> Table:
    """Return finished runs with their kind of action, the best first."""
    columns = [
        text_column("run", "run"),
        text_column("actions", "action_space"),
        text_column("learner", "learner"),
        column(
            "net bp/bar",
            lambda r: Cell(
                plain(r.agents.net_bps_per_bar.estimate),
                r.agents.net_bps_per_bar.estimate,
                note=format_interval(r.agents.net_bps_per_bar),
            ),
        ),
        column("Sharpe", lambda r: Cell(with_interval(r.agents.sharpe_annual)), "annual, 95 %"),
        column("drawdown", lambda r: Cell(percent(r.agents.max_drawdown_frac))),
        text_column("test", lambda r: text(f"{r.first_day[:10]} … {r.last_day[:10]}")),
        text_column("data", "data"),
    ]
    best = sorted(rows, key=lambda r: -r.agents.net_bps_per_bar.estimate)
    return record_table(columns, best, "Finished runs on their own test parts, net of costs")
