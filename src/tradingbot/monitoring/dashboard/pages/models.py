"""Models: versions that can be served, what was decided about each, and the next decision."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from tradingbot.domain.errors import UserError
from tradingbot.evaluation.report.table import Cell, Table, Tone, record_table, text, text_column
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.acts.dialogs import offer_model_acts
from tradingbot.monitoring.dashboard.moments import Zone, read_moment
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.serving.model_versions import ModelVersion, RegistryEvent

_NOTHING = "No model is registered. Export a finished run: tradingbot export RUN"


def show_models(frame: Frame) -> None:
    """Show the page."""
    st.header("Models", anchor=False)

    @st.fragment(run_every=max(frame.refresh_s, 1.0))
    def registry() -> None:
        try:
            versions = frame.watched.versions()
        except UserError as e:
            words = frame.with_workspace(f"The registry cannot be read: {e}")
            st.html(markup.note(words, tone="warm"))
            return
        current = [f"{each.name} is on {each.state}" for each in versions if each.state == "paper"]
        st.html(markup.note("; ".join(current) or "No version is on paper."))
        nothing = frame.with_workspace(_NOTHING)
        st.html(markup.table(list_versions(versions, frame.zone), nothing=nothing))
        events = sorted((e for v in versions for e in v.events), key=lambda e: str(e.at))
        with st.expander("Every decision"):
            st.html(markup.table(list_decisions(events[::-1], frame.zone), nothing=nothing))

    registry()
    offer_model_acts(frame)


def list_versions(versions: Sequence[ModelVersion], zone: Zone) -> Table:
    """Return the versions, the newest first."""

    def verdict(version: ModelVersion) -> Cell:
        tone: Tone = {"GO": "good", "NO-GO": "bad"}.get(version.verdict, "")  # type: ignore[assignment]
        accepted = f"accepted: {', '.join(version.accepted)}" if version.accepted else ""
        return Cell(version.verdict, version.verdict, tone=tone, note=accepted)

    columns = [
        text_column("version", "name"),
        text_column(
            "state", lambda v: Cell(v.state, v.state, tone="good" if v.state == "paper" else "")
        ),
        text_column("verdict", verdict, "of the gates, as its bundle says"),
        text_column("run", "run"),
        text_column("registered", lambda v: text(zone.moment(read_moment(v.registered_at)))),
        text_column("bundle", lambda v: text(v.bundle_sha256[:12])),
    ]
    return record_table(columns, versions[::-1], f"Versions; times in {zone.label}")


def list_decisions(events: Sequence[RegistryEvent], zone: Zone) -> Table:
    """Return decisions about versions."""
    columns = [
        text_column("at", lambda e: text(zone.moment(read_moment(str(e.at)), seconds=True))),
        text_column("version", "version"),
        text_column("decision", "kind"),
        text_column("to", "to"),
        text_column("reason", "reason"),
    ]
    return record_table(columns, events, "Decisions, the newest first")
