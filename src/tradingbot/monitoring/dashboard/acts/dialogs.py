"""Forms of acts: the key, what will happen in words, a confirmation, and what came out."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from tradingbot.domain.errors import UserError
from tradingbot.domain.named_commands import name_options
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.acts.desk import (
    ActsDesk,
    ModelAsk,
    SessionAsk,
    describe_model_act,
    describe_session_act,
)
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

if TYPE_CHECKING:
    from tradingbot.monitoring.dashboard.pages.frame import Frame

_READ_ONLY = (
    "Everything here is read-only. To act, give an API key of scope {scope}: "
    "tradingbot keys create NAME --scope {scope}. Every act is audited under its id."
)


def offer_session_acts(frame: Frame, view: SessionView) -> None:
    """Offer to stop, kill or arm a session; nothing happens without key and confirmation."""
    place = frame.watched.place(view.name)
    if place is None or place.folder is None:
        return
    with st.expander("Act: stop, kill, arm"):
        st.html(markup.note(frame.with_workspace(_READ_ONLY.format(scope="trade"))))
        left, right = st.columns(2)
        act: Any = left.selectbox("Act", ("kill", "stop", "arm"), key=f"act-{view.name}")
        reason = right.text_input("Reason, journaled", key=f"reason-{view.name}", max_chars=200)
        flatten = act == "kill" and left.checkbox(
            "Sell what is held first", key=f"flatten-{view.name}"
        )
        ask = SessionAsk(
            view.name, act, reason.strip(), _token(f"{view.name}-{act}"), bool(flatten)
        )
        facts = {"n_open": len(view.open_orders), "n_positions": len(view.positions)}
        words = describe_session_act(ask, **facts)
        key = _confirm(
            words, must_type=view.name if act == "arm" else "", name=f"{act}-{view.name}"
        )
        if key is not None:
            done = partial(frame.desk.ask_session, key, ask, address=_address())
            _do(frame, done, f"{view.name}-{act}")


def offer_model_acts(frame: Frame) -> None:
    """Offer to promote a version or to roll back to one."""
    try:
        versions = frame.watched.versions()
    except UserError:
        return
    if not versions:
        return
    with st.expander("Act: promote, roll back"):
        st.html(markup.note(frame.with_workspace(_READ_ONLY.format(scope="admin"))))
        left, right = st.columns(2)
        names = [each.name for each in versions][::-1]
        version = str(left.selectbox("Version", names, key="version"))
        to: Any = right.selectbox(
            "Act", ("promote to shadow", "promote to paper", "roll back to it", "retire"), key="to"
        )
        state: Any = {
            "promote to shadow": "shadow",
            "promote to paper": "paper",
            "retire": "retired",
        }
        reason = left.text_input("Reason, kept for ever", key="model-reason", max_chars=200)
        accept = right.text_input(
            "Verdict that is accepted all the same", key="accept", max_chars=40, help="e.g. NO-GO"
        )
        token = _token(f"{version}-{to}")
        ask = ModelAsk(version, state.get(to), reason.strip(), token, accept.strip() or None)
        words = describe_model_act(ask, versions)
        key = _confirm(words, must_type=version, name="model")
        if key is not None:
            done = partial(frame.desk.decide_model, key, ask, address=_address())
            _do(frame, done, f"{version}-{to}")


def ask_for_key(desk: ActsDesk, options: str = "") -> bool:
    """Ask a reader from beyond loopback for a key of scope read; tell whether one was given.

    Args:
        desk: That knows the keys.
        options: What commands that a refusal names need before the noun.
    """
    known = st.session_state.get("reader")
    if known:
        try:
            desk.identify(str(known), "read", address=_address(), what="the dashboard")
        except UserError:
            del st.session_state["reader"]
        else:
            return True
    st.header("Dashboard", anchor=False)
    with st.form("reader-form"):
        presented = st.text_input("API key of scope read", type="password", autocomplete="off")
        if st.form_submit_button("Open") and presented:
            try:
                desk.identify(presented, "read", address=_address(), what="the dashboard")
            except UserError as e:
                st.html(markup.note(name_options(str(e), options), tone="warm"))
            else:
                st.session_state["reader"] = presented
                st.rerun()
    return False


def _confirm(words: str, *, must_type: str, name: str) -> str | None:
    """Return the key where it was given and what will happen was confirmed; else None.

    Args:
        words: What will happen.
        must_type: Name that must be typed, for what adds risk; nothing: a press is enough.
        name: Of the form.
    """
    with st.form(f"confirm-{name}", clear_on_submit=True):
        st.html(markup.note(f"What will happen: {words}", tone="amber"))
        presented = st.text_input("API key", type="password", autocomplete="off")
        typed = must_type
        if must_type:
            typed = st.text_input(f"Type {must_type} to confirm", autocomplete="off")
        label = "Do it, as said above"
        if not st.form_submit_button(label, type="primary"):
            return None
    if typed.strip() != must_type:
        st.html(markup.note(f"Nothing was done: {must_type} was not typed.", tone="warm"))
        return None
    return presented


def _do(frame: Frame, act: Callable[[], str], name: str) -> None:
    try:
        done = act()
    except UserError as e:
        words = frame.with_workspace(f"Nothing was done: {e}")
        st.html(markup.note(words, tone="warm"))
        return
    st.session_state.pop(f"token-{name}", None)
    st.html(markup.note(done, tone="good"))


def _token(name: str) -> str:
    """Return what a confirmation is known by until it was carried out."""
    return str(st.session_state.setdefault(f"token-{name}", secrets.token_hex(16)))


def _address() -> str:
    return str(st.context.ip_address or "")
