"""Agents: all of them at a glance, and one in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import NOTHING, bps, percent, plain, quantity
from tradingbot.evaluation.report.table import table_of
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.agent_cells import (
    MEASURES,
    AgentCell,
    Measure,
    collapse_cells,
    entropy_cells,
    profit_cells,
    write_cells,
)
from tradingbot.monitoring.dashboard.figures.agent import draw_actions, draw_price
from tradingbot.monitoring.dashboard.figures.curves import draw_curves
from tradingbot.monitoring.dashboard.figures.heat_map import HeatScale, draw_heat_map
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.sources.agents_watch import AgentBars
from tradingbot.monitoring.dashboard.sources.evaluations import JudgedRun
from tradingbot.monitoring.dashboard.sources.run_view import RunView
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

_NOTHING = "No session and no run is on record. Start one: tradingbot train --preset quick"


def show_agents(frame: Frame) -> None:
    """Show the page."""
    st.header("Agents", anchor=False)
    sessions = names_with_accounts_first(frame.watched.sessions())
    runs = [run.id for run in frame.watched.runs.summaries() if run.agents]
    if not sessions and not runs:
        st.html(markup.nothing(frame.with_workspace(_NOTHING)))
        return
    sources = [f"session {name}" for name in sessions] + [f"run {run}" for run in runs]
    left, right = st.columns([2, 1])
    source = str(left.selectbox("Agents of", sources, key="agents_of"))
    measure: Any = right.segmented_control("By", MEASURES, default="P&L", key="measure")
    kind, _, name = source.partition(" ")

    @st.fragment(run_every=frame.refresh_s)
    def wall() -> None:
        view = frame.watched.session(name) if kind == "session" else None
        run = frame.watched.runs.run(_run_of(view) if view is not None else name)
        cells, words = _cells(frame, view, run, measure or "P&L")
        if cells:
            st.html(write_cells(cells, frame.palette, words))
        st.html(markup.note(words))

    wall()
    view = frame.watched.session(name) if kind == "session" else None
    agents = view.symbols if view is not None else _agents_of(frame, name)
    if agents:
        agent = str(st.selectbox("One agent", agents, key="agent"))
        _follow(frame, kind, name, agent)


def names_with_accounts_first(views: Sequence[SessionView]) -> list[str]:
    """Return sessions of agents: those with saved accounts first, the newest of them before."""
    ranked = sorted(views, key=lambda view: (view.state is not None, view.begun_s), reverse=True)
    return [view.name for view in ranked if view.symbols]


def _run_of(view: SessionView | None) -> str:
    return "" if view is None or view.terms is None else view.terms.run


def _agents_of(frame: Frame, run: str) -> tuple[str, ...]:
    view = frame.watched.runs.run(run)
    return () if view is None else view.summary.agents


def _cells(
    frame: Frame, view: SessionView | None, run: RunView | None, measure: Measure
) -> tuple[list[AgentCell], str]:
    """Return the wall, and what its numbers are of."""
    if measure == "P&L" and view is not None:
        return _session_profit(frame, view)
    if run is None:
        return (
            [],
            "The run of this session is not in the workspace: nothing is known of its agents.",
        )
    agents = run.summary.agents
    if measure == "P&L":
        return _test_profit(frame, run)
    if measure == "entropy":
        return _entropies(run)
    evaluation = frame.watched.evaluations.read(run.summary.id)
    played = _played(evaluation)
    words = f"Run {run.summary.id}: verdicts of the flight recorder"
    words += f", and actions on test {_days(evaluation)}" if played else "; it was not evaluated"
    return collapse_cells(agents, played, run.said), f"{words}."


def _session_profit(frame: Frame, view: SessionView) -> tuple[list[AgentCell], str]:
    watch = frame.watched.agents(view.name)
    rows = () if watch is None else watch.accounts()
    if not rows or len(view.symbols) != rows[-1].numbers.shape[1]:
        return [], "No account was saved yet."
    last, at = rows[-1], frame.zone.moment(rows[-1].at)
    gains = (last.profit / _start_of(view, is_portfolio=last.is_portfolio)).tolist()
    period = f"since the session began, net of costs, at the close {at}"
    whose, base = "account", "of what it began with"
    if last.is_portfolio:
        whose, base = "agent", "of what the whole portfolio began with; moved capital is no profit"
    words = f"Profit of each {whose} of session {view.name} {period}, {base}. "
    cells = profit_cells(view.symbols, gains, period, in_bps=last.is_portfolio)
    return cells, f"{words}Data: {view.data_label or 'unknown'}."


def _start_of(view: SessionView, *, is_portfolio: bool) -> float:
    """Return the money that profits are fractions of: the portfolio's, or an account's own."""
    start = view.terms.start_ccy if view.terms else math.nan
    return start if is_portfolio else start / len(view.symbols)


def _test_profit(frame: Frame, run: RunView) -> tuple[list[AgentCell], str]:
    evaluation = frame.watched.evaluations.read(run.summary.id)
    played = _played(evaluation)
    if not played:
        words = f"Run {run.summary.id} was not evaluated: tradingbot evaluate {run.summary.id}"
        return [], frame.with_workspace(words)
    agents = run.summary.agents
    gains = [played[a].total_return_frac if a in played else math.nan for a in agents]
    words = (
        f"Return of each agent of run {run.summary.id} on test {_days(evaluation)}, net of costs. "
    )
    return profit_cells(agents, gains, f"test {_days(evaluation)}"), f"{words}{run.summary.data}."


def _entropies(run: RunView) -> tuple[list[AgentCell], str]:
    agents = run.summary.agents
    scores = [row for row in run.scores if len(row.scores.get("entropy", ())) == len(agents)]
    if scores:
        found = scores[-1].scores["entropy"].tolist()
        of = f"deterministic actions on validation after update {scores[-1].sequence}"
    elif run.updates and run.updates[-1].entropy is not None:
        found = run.updates[-1].entropy.tolist()
        of = f"the policy at update {run.updates[-1].sequence}"
    else:
        return [], f"Run {run.summary.id} noted no entropy yet."
    words = f"Normalised entropy, 0 decided … 1 uniform, of {of} of run {run.summary.id}."
    return entropy_cells(agents, found, of), words


def _played(evaluation: JudgedRun) -> dict[str, Any]:
    dossier = evaluation.dossier
    return {} if dossier is None else {row.agent: row for row in dossier.test.agents}


def _days(evaluation: JudgedRun) -> str:
    dossier = evaluation.dossier
    return (
        "" if dossier is None else f"{dossier.test.first_day[:10]} … {dossier.test.last_day[:10]}"
    )


def _follow(frame: Frame, kind: str, name: str, agent: str) -> None:
    """Show one agent."""

    @st.fragment(run_every=frame.refresh_s)
    def one() -> None:
        st.subheader(f"Agent {markup.plain_text(agent)}", anchor=False)
        view = frame.watched.session(name) if kind == "session" else None
        run = frame.watched.runs.run(_run_of(view) if view is not None else name)
        if view is not None:
            _show_trading(frame, view, agent)
        if run is not None:
            _show_learning(frame, run, agent)

    one()


def _show_trading(frame: Frame, view: SessionView, agent: str) -> None:
    watch = frame.watched.agents(view.name)
    if watch is None or agent not in view.symbols:
        return
    fills = frame.watched.fills(view.name, agent)
    bars = watch.agent(agent, view.symbols.index(agent), fills)
    if not len(bars.at):
        st.html(markup.nothing("No bar was settled yet."))
        return
    st.html(markup.figures(_facts(frame, view, bars, agent)))
    st.markdown("**Price with entries and exits**")
    frame.show(draw_price(bars, frame.palette, frame.zone), "price")
    st.html(
        markup.note(f"Closes of the last {len(bars.at)} bars, and their {len(bars.fills)} fills.")
    )
    st.markdown("**Actions, raw and smoothed**")
    frame.show(draw_actions(bars, frame.palette, frame.zone), "actions")
    options = [each for each in bars.options if each]
    if options:
        names = sorted(set(options))
        rows = [(each, percent(options.count(each) / len(options), 0)) for each in names]
        caption = f"Options of the last {len(bars.at)} bars"
        table = table_of(["option", "bars under it"], rows, caption, words=("option",))
        st.html(markup.table(table, nothing=""))


def _facts(frame: Frame, view: SessionView, bars: AgentBars, agent: str) -> list[Figure]:
    at = frame.zone.moments(bars.at[-1:])[0]
    held = next((line for line in view.positions if line.symbol == agent), None)
    gain = float(bars.profit_ccy[-1]) / _start_of(view, is_portfolio=bars.is_portfolio)
    name, base, written = "Account", "", percent(gain, 2, signed=True)
    if bars.is_portfolio:
        name, base, written = "Capital", "of the portfolio, ", bps(gain * 1e4)
    decided = np.flatnonzero(np.isfinite(bars.smoothed))
    action, when = NOTHING, "none was decided in these bars"
    if len(decided):
        action = plain(float(bars.smoothed[decided[-1]]), signed=True)
        when = f"smoothed, {frame.zone.moments(bars.at[decided[-1:]])[0]}"
    return [
        Figure(name, plain(float(bars.equity_ccy[-1])), f"account currency, {at}"),
        Figure("P&L", written, f"{base}since the session began, net, {at}"),
        Figure("Holds", quantity(held.units) if held else "nothing", f"units, {at}"),
        Figure("Close", plain(float(bars.price[-1])), f"account currency, {at}"),
        Figure("Action", action, when),
    ]


def _show_learning(frame: Frame, run: RunView, agent: str) -> None:
    agents = run.summary.agents
    place = agents.index(agent) if agent in agents else None
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Reward terms while it learned**")
        names = sorted({name for row in run.updates for name in row.terms})
        if place is not None and names:
            lines = {
                name: [_at(row.terms.get(name), place) for row in run.updates] for name in names
            }
            steps = [row.steps for row in run.updates]
            y = "weighted term, mean per bar"
            frame.show(draw_curves(steps, lines, frame.palette, y=y), "terms")
            st.html(markup.note(f"Run {run.summary.id}, with exploration; {run.summary.data}."))
        else:
            st.html(markup.nothing("The run noted no reward terms of this agent."))
    with right:
        st.markdown("**Attention**")
        _show_attention(frame, run)


def _show_attention(frame: Frame, run: RunView) -> None:
    dossier = frame.watched.evaluations.read(run.summary.id).dossier
    policy = None if dossier is None else dossier.policy
    if policy is None or policy.attention is None or policy.attention_lags is None:
        why = dict(policy.unavailable).get("attention", "") if policy is not None else ""
        words = f"Not analysed yet: tradingbot evaluate {run.summary.id}"
        st.html(markup.nothing(why or frame.with_workspace(words)))
        return
    lags = [str(lag) for lag in policy.attention_lags]
    weights = np.array([policy.attention])
    scale = HeatScale("bars back", "", "of the weight")
    frame.show(draw_heat_map(weights, ["weight"], lags, scale, frame.palette), "attention")
    st.html(
        markup.note("Mean weight of each lag in the last layer, all agents of the run, test part.")
    )


def _at(numbers: Any, place: int) -> float:
    return float(numbers[place]) if numbers is not None and place < len(numbers) else math.nan
