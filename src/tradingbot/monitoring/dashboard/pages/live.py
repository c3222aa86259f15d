"""Live: whether to sleep, and one session in full."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.acts.dialogs import offer_session_acts
from tradingbot.monitoring.dashboard.figures.equity import draw_equity
from tradingbot.monitoring.dashboard.outlook import judge_outlook
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.session_tables import (
    key_figures,
    list_denied,
    list_open_orders,
    list_positions,
    list_sessions,
    list_trades,
    list_unclosed,
)
from tradingbot.monitoring.dashboard.sources.alarms import list_alarms
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

_START = "Start one: tradingbot paper start MODEL --name NAME"


def show_live(frame: Frame) -> None:
    """Show the page."""
    st.header("Live", anchor=False)
    with frame.reading("the journals of sessions", is_new=frame.watched.has_unread):
        frame.watched.sessions()

    @st.fragment(run_every=frame.refresh_s)
    def outlook() -> None:
        sessions = frame.watched.sessions()
        expected = {each.name: frame.watched.expectation(each) for each in sessions}
        known = {name: each for name, each in expected.items() if each is not None}
        alarms = list_alarms(frame.watched.folder, frame.zone)
        found = judge_outlook(sessions, known, frame.zone, alarms=alarms)
        reasons = [frame.with_workspace(each) for each in found.reasons]
        st.html(markup.banner(found.tone, found.word, found.headline, reasons))
        if frame.watched.problem:
            st.html(
                markup.note(
                    frame.with_workspace(f"The journal cannot be read: {frame.watched.problem}"),
                    tone="warm",
                )
            )
        if len(sessions) > 1:
            table = list_sessions(sessions, frame.zone, frame.watched.clock())
            st.html(markup.table(table, nothing=""))

    outlook()
    name = _choose_session(frame)
    if name is None:
        st.html(markup.nothing(frame.with_workspace(f"No session is on record. {_START}")))
        return

    @st.fragment(run_every=frame.refresh_s)
    def session() -> None:
        view = frame.watched.session(name)
        if view is not None:
            _show_session(frame, view)

    session()
    view = frame.watched.session(name)
    if view is not None:
        offer_session_acts(frame, view)


def _choose_session(frame: Frame) -> str | None:
    views = frame.watched.sessions()
    if not views:
        return None
    order = {"stale": 0, "live": 0, "catching up": 0, "waiting": 1}
    order |= {"unknown": 2, "stopped": 3, "ended": 4}
    names = [each.name for each in sorted(views, key=lambda each: order[each.freshness.state])]
    if len(names) == 1:
        return names[0]
    chosen: Any = st.selectbox("Session", names, key="session")
    return str(chosen)


def _show_session(frame: Frame, view: SessionView) -> None:
    zone, now = frame.zone, frame.watched.clock()
    st.subheader(markup.plain_text(view.name), anchor=False)
    if view.problem:
        since = zone.moment(view.freshness.since, seconds=True)
        words = frame.with_workspace(f"Stale since {since}. {view.problem}")
        st.html(markup.note(words, tone="warm"))
    st.html(markup.figures(key_figures(view, zone, now), mark="equity"))
    if view.unclosed:
        st.html(markup.table(list_unclosed(view), nothing=""))
    expectation = frame.watched.expectation(view)
    wide, narrow = st.columns([2, 1], gap="medium")
    with wide:
        st.markdown("**Equity against the backtest**")
        if len(view.equity):
            last = (view.name, len(view.equity), float(view.equity.equity_ccy[-1]), expectation)
            frame.show_drawn(
                *("equity", last),
                lambda: draw_equity(view.equity, expectation, frame.palette, zone),
            )
            st.html(markup.note(_about_band(view, expectation)))
        else:
            st.html(markup.nothing("No bar was settled yet."))
    with narrow:
        st.markdown("**Breakers and limits**")
        st.html(markup.meters(view.breakers))
    left, right = st.columns(2, gap="medium")
    with left:
        st.html(markup.table(list_positions(view, zone), nothing="Nothing is held."))
        st.html(markup.table(list_open_orders(view, zone), nothing="No order is open."))
    with right:
        st.html(markup.table(list_trades(view, zone), nothing="Nothing was traded yet."))
        st.html(markup.table(list_denied(view, zone), nothing="No order was denied."))


def _about_band(view: SessionView, expectation: Any) -> str:
    data = f"Data: {view.data_label}. " if view.data_label else ""
    if expectation is None:
        run = "" if view.terms is None else f" {view.terms.run}"
        return f"{data}No expectation: the result of run{run} is not in this workspace."
    return f"{data}Expected by the backtest of {expectation.words}; 95 % of luck and of its mean."
