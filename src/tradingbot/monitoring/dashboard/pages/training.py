"""Training: what learns now, how far it is, and what the flight recorder says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from tradingbot.domain.action import Action
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import NOTHING, count, percent, plain
from tradingbot.evaluation.report.table import (
    Cell,
    Table,
    Tone,
    column,
    record_table,
    text,
    text_column,
)
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.figures.curves import draw_curves
from tradingbot.monitoring.dashboard.figures.heat_map import HeatScale, draw_heat_map
from tradingbot.monitoring.dashboard.figures.style import Picture
from tradingbot.monitoring.dashboard.moments import Zone, describe_age
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.sources.run_view import RecorderWords, RunSummary, RunView
from tradingbot.monitoring.dashboard.sources.watched_workspace import WatchedWorkspace

_NOTHING = "No run is on record. Start one: tradingbot train --preset quick"
_CURVES = (
    ("rollout/reward", "reward, mean per bar"),
    ("policy/normalised_entropy", "normalised entropy, 0 … 1"),
    ("policy/entropy", "entropy, nats"),
    ("loss/policy", "policy loss"),
    ("loss/value", "value loss"),
    ("value/explained_variance", "explained variance"),
    ("loss/gradient_norm", "gradient norm"),
    ("rollout/growth_bp", "growth, bp per bar"),
)
_MOST_CURVES = 4


def show_training(frame: Frame) -> None:
    """Show the page."""
    st.header("Training", anchor=False)
    if not frame.watched.runs.summaries():
        st.html(markup.nothing(frame.with_workspace(_NOTHING)))
        return

    @st.fragment(run_every=frame.refresh_s)
    def overview() -> None:
        runs = frame.watched.runs.summaries()
        running = [run for run in runs if run.is_running]
        st.html(markup.note(f"{count(len(running))} of {count(len(runs))} runs train now."))
        table = list_runs(runs, frame.zone)
        st.html(markup.table(table, nothing=frame.with_workspace(_NOTHING)))

    overview()
    names = [run.id for run in frame.watched.runs.summaries()]
    chosen = str(st.selectbox("Run", names, key="run"))

    is_new = not frame.watched.runs.is_followed(chosen)
    with frame.reading(f"the journals of {chosen}", is_new=is_new):
        frame.watched.runs.run(chosen)

    @st.fragment(run_every=frame.refresh_s)
    def one() -> None:
        run = frame.watched.runs.run(chosen)
        if run is not None:
            _show_run(frame, run)

    one()
    _show_hours(frame, chosen)


def list_runs(runs: Sequence[RunSummary], zone: Zone) -> Table:
    """Return a row for each run."""

    def state_of(run: RunSummary) -> Cell:
        tone: Tone = "bad" if run.state in ("killed", "failed", "halted", "damaged") else ""
        return Cell(run.state, run.state, tone=tone, note=run.reason or run.problem)

    columns = [
        text_column("run", "id"),
        text_column("state", state_of),
        text_column("learner", "learner"),
        column("agents", lambda run: Cell(count(len(run.agents)), float(len(run.agents)))),
        column("done", "done_frac", "of the steps of its budget", percent, digits=0),
        column("steps", "steps", "environment steps per agent", count),
        text_column("began", lambda run: text(zone.moment(run.created_at))),
        text_column("last change", lambda run: text(zone.moment(run.changed_at))),
        text_column("data", lambda run: text(run.data or NOTHING)),
    ]
    return record_table(columns, runs, f"Runs; times in {zone.label}")


def _show_run(frame: Frame, run: RunView) -> None:
    st.subheader(markup.plain_text(run.summary.id), anchor=False)
    st.html(markup.figures(progress_figures(run, frame.zone)))
    if run.freshness.state == "stale":
        since = frame.zone.moment(run.freshness.since, seconds=True)
        st.html(
            markup.note(f"Stale since {since}: a process trains, and wrote nothing.", tone="warm")
        )
    if run.problem or run.summary.problem:
        words = frame.with_workspace(run.problem or run.summary.problem)
        st.html(markup.note(words, tone="warm"))
    if run.summary.steps_per_agent:
        done = min(run.steps / run.summary.steps_per_agent, 1.0)
        st.progress(done, text=f"{percent(done, 0)} of the budget")
    _show_curves(frame, run)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Actions while it learned**")
        _show_actions(frame, run)
    with right:
        st.markdown("**What the flight recorder said**")
        quiet = "It found nothing wrong in the updates at the end of its file."
        st.html(markup.table(list_said(run.said), nothing=quiet))


def progress_figures(run: RunView, zone: Zone) -> list[Figure]:
    """Return how far a run is, how fast, and what it scored."""
    steps, budget = run.steps, run.summary.steps_per_agent
    at = zone.moment(run.freshness.since, seconds=True)
    known = [row.mean_score for row in run.scores if math.isfinite(row.mean_score)]
    best = max(known, default=float("nan"))
    last = run.scores[-1].mean_score if run.scores else float("nan")
    speed = NOTHING if run.steps_per_s is None else plain(run.steps_per_s, 0)
    of = "Sharpe of alpha on the first half of validation, mean of the agents"
    told = "left at this speed" if run.left_s is not None else f"{run.summary.state}"
    return [
        Figure("Steps", count(steps), f"of {count(budget)} per agent, at {at}"),
        Figure("ETA", describe_age(run.left_s), told),
        Figure("Speed", speed, "steps per agent and second"),
        Figure("Score", plain(last, 3), f"{of}, last"),
        Figure("Best score", plain(best, 3), f"{of}, best"),
        Figure("Agents", count(len(run.summary.agents)), run.summary.data),
    ]


def list_said(said: Sequence[RecorderWords]) -> Table:
    """Return what the flight recorder said, the newest first."""

    def tone_of(row: RecorderWords) -> Cell:
        tone: Tone = "bad" if row.severity == "critical" else ""
        return Cell(row.severity, row.severity, tone=tone, note=row.code)

    columns = [
        column("update", "update", write=count),
        text_column("severity", tone_of),
        text_column("agent", lambda row: text(row.agent or "all")),
        text_column("words", lambda row: Cell(row.words, row.words, note=row.remedy)),
    ]
    return record_table(columns, said, "What was new after an update, and what to do")


def _show_curves(frame: Frame, run: RunView) -> None:
    if not run.updates:
        st.html(markup.nothing("No update was made yet."))
        return
    made = (run.summary.id, len(run.updates), run.updates[-1].steps)
    known = {name for row in run.updates[-1:] for name in row.means}
    wanted = [(name, words) for name, words in _CURVES if name in known][:_MOST_CURVES]
    columns = st.columns(2, gap="medium")
    if run.scores:
        best = [place for place, row in enumerate(run.scores) if row.is_best]
        lines = {"validation": [row.mean_score for row in run.scores]}
        with columns[0]:
            st.markdown("**Score on validation**")
            at = [row.steps for row in run.scores]
            y = "Sharpe of alpha, annual"
            scored = (run.summary.id, len(at), at[-1], lines["validation"][-1])
            frame.show_drawn(
                *("score", scored), lambda: draw_curves(at, lines, frame.palette, y=y, best=best)
            )
    for place, (name, words) in enumerate(wanted, start=1 if run.scores else 0):
        with columns[place % 2]:
            st.markdown(f"**{words}**")
            frame.show_drawn(
                *(f"curve-{name}", made), partial(_draw_metric, frame, run, name, words)
            )


def _draw_metric(frame: Frame, run: RunView, name: str, words: str) -> Picture:
    steps = [row.steps for row in run.updates]
    numbers = [row.means.get(name, float("nan")) for row in run.updates]
    return draw_curves(steps, {words: numbers}, frame.palette, y=words)


def _show_actions(frame: Frame, run: RunView) -> None:
    rows = [row for row in run.scores if row.scores.get("histogram", np.array([])).ndim == 2]
    if not rows:
        st.html(markup.nothing("No evaluation was made yet: actions are counted there."))
        return
    rows = rows[-12:]
    cells = np.array([row.scores["histogram"].mean(axis=0) for row in rows]).T.astype(np.float64)
    names = bin_names(len(cells), run.summary.action_space)
    columns = [f"{row.sequence}" for row in rows]
    scale = HeatScale("update", "action", "of the actions")
    frame.show(draw_heat_map(cells, names, columns, scale, frame.palette), "histogram")
    st.html(
        markup.note("Share of each bin of deterministic actions on validation, mean of agents.")
    )


def bin_names(n_bins: int, space: str) -> list[str]:
    """Return the names of action bins: codes, or ranges of equal width."""
    if space == "discrete" and n_bins == len(Action):
        return [each.name for each in Action]
    low = 0.0 if space == "target" else -1.0
    edges = np.linspace(low, 1.0, n_bins + 1)
    return [f"{a:+.2f} … {b:+.2f}" for a, b in pairwise(edges)]


def _show_hours(frame: Frame, run: str) -> None:
    """Show what is decided at which hour of the day, by sessions of the run's model."""
    st.markdown("**Decisions by the hour of the day**")
    traded = sorted(
        (view for view in frame.watched.sessions() if view.terms and view.terms.run == run),
        key=lambda view: view.begun_s,
        reverse=True,
    )
    if not traded:
        words = "No session trades the model of this run: tradingbot paper start MODEL --name NAME"
        st.html(markup.nothing(frame.with_workspace(words)))
        return
    found = newest_with_decisions(frame.watched, [view.name for view in traded], frame.zone)
    if found is None:
        silent = ", ".join(view.name for view in traded)
        st.html(markup.nothing(f"No decision was made yet by sessions of this run: {silent}."))
        return
    session, cells = found
    names = [each.name for each in Action]
    scale = HeatScale(f"hour ({frame.zone.label})", "action", "of the decisions")
    hours = [f"{hour:02d}" for hour in range(24)]
    frame.show(draw_heat_map(cells.T, names, hours, scale, frame.palette), "hours")
    newest = "the newest with decisions" if len(traded) > 1 else "the only one of this run"
    st.html(
        markup.note(
            f"Share of each action among the decisions of an hour, session {session}, {newest}."
        )
    )


def newest_with_decisions(
    watched: WatchedWorkspace, sessions: Sequence[str], zone: Zone
) -> tuple[str, NDArray[np.float64]] | None:
    """Return the first session that decided anything, with its actions (24, 7) by the hour.

    Args:
        watched: Where sessions are read.
        sessions: Their names, the newest first.
        zone: Of the hours.
    """
    for name in sessions:
        watch = watched.agents(name)
        cells = None if watch is None else watch.actions_by_hour(zone)
        if cells is not None and np.isfinite(cells).any():
            return name, cells
    return None
