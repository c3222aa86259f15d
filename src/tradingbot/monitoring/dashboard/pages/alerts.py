"""Alerts: what needs attention now, what was told and to whom, and what persons did about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import streamlit as st

from tradingbot.domain.errors import UserError
from tradingbot.domain.events.session import AlertRaised
from tradingbot.evaluation.report.numbers import count, plain
from tradingbot.evaluation.report.table import (
    Cell,
    Table,
    Tone,
    column,
    record_table,
    text,
    text_column,
)
from tradingbot.monitoring.alerts.incident import Incident
from tradingbot.monitoring.alerts.reading import AlertReader, NoticeRow
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.moments import Zone, describe_age
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

_START = "Watch it: tradingbot alerts watch"


def show_alerts(frame: Frame) -> None:
    """Show the page."""
    st.header("Alerts", anchor=False)

    @st.fragment(run_every=frame.refresh_s)
    def page() -> None:
        now = frame.watched.clock()
        try:
            _show_alerter(frame, now)
        except UserError as e:
            words = frame.with_workspace(f"The alerts cannot be read: {e}")
            st.html(markup.note(words, tone="warm"))
        sessions = frame.watched.sessions()
        st.markdown("**What sessions wrote in their journals**")
        rows = [(view.name, each) for view in sessions for each in view.alerts]
        rows.sort(key=lambda row: row[1].at, reverse=True)
        st.html(
            markup.table(list_journaled(rows, frame.zone), nothing="No session told of anything.")
        )
        st.markdown("**Breakers**")
        for view in sessions:
            if view.breakers:
                st.html(markup.note(_about(view, frame.zone)))
                st.html(markup.meters(view.breakers))
        if not any(view.breakers for view in sessions):
            words = "No session has breakers yet: tradingbot paper start MODEL --name NAME"
            st.html(markup.nothing(frame.with_workspace(words)))

    page()


def _show_alerter(frame: Frame, now: datetime) -> None:
    reader, start = AlertReader(frame.watched.folder), frame.with_workspace(_START)
    if not reader.is_present:
        st.html(markup.nothing(f"No alerter watched this workspace yet. {start}"))
        return
    beat = reader.heartbeat()
    if beat is None or beat.stopped_at is not None:
        at = frame.zone.moment(beat.stopped_at, seconds=True) if beat else ""
        st.html(markup.note(f"The alerter does not run; it ended {at}. {start}", tone="amber"))
    elif beat.is_late(now):
        since = frame.zone.moment(beat.at, seconds=True)
        st.html(markup.note(f"The alerter is silent: stale since {since}.", tone="warm"))
    else:
        age = describe_age((now - beat.at).total_seconds())
        st.html(markup.note(f"The alerter watches; last heard {age} ago."))
    opened = reader.open_incidents()
    acknowledged = reader.acknowledgements()
    incidents = list_incidents(
        opened, {key: by for key, (_, by, _) in acknowledged.items()}, frame.zone
    )
    st.html(markup.table(incidents, nothing="Nothing needs attention now."))
    notices = list_notices(reader.notices(limit=50), frame.zone, frame.with_workspace)
    st.html(markup.table(notices, nothing="Nothing was told yet."))
    counts = reader.delivery_counts()
    told = "; ".join(
        f"{name}: {sent} sent, {failed} failed" for name, (sent, failed) in counts.items()
    )
    st.html(markup.note(f"Deliveries by channel: {told or 'none yet'}."))


def _about(view: SessionView, zone: Zone) -> str:
    at = "" if view.state is None else f", at the close {zone.moment(view.state.at)}"
    return f"Session {view.name}, {view.freshness.state}{at}."


def list_incidents(opened: Sequence[Incident], taken: dict[str, str], zone: Zone) -> Table:
    """Return what is pending or firing now."""

    def severity(row: Incident) -> Cell:
        tone: Tone = "bad" if row.severity.value == "critical" else ""
        return Cell(row.severity.value, row.severity.value, tone=tone, note=row.phase.value)

    columns = [
        text_column("rule", "rule"),
        text_column("severity", severity),
        text_column("subject", "subject"),
        column("value", lambda row: Cell(plain(row.value, 3), row.value, note=row.metric)),
        text_column("since", lambda row: text(zone.moment(row.since, seconds=True))),
        text_column("acknowledged", lambda row: text(taken.get(row.id, "no"))),
        text_column("words", "text"),
    ]
    return record_table(columns, opened, "Open incidents")


def list_notices(
    rows: Sequence[NoticeRow], zone: Zone, written: Callable[[str], str] = str
) -> Table:
    """Return what was told, and what became of it; `written` completes commands of a text."""

    def fate(row: NoticeRow) -> Cell:
        sent = [each.channel for each in row.deliveries if each.is_sent]
        failed = [each.channel for each in row.deliveries if not each.is_sent]
        tone: Tone = "bad" if failed and not sent else ""
        note = f"failed: {', '.join(failed)}" if failed else ""
        return Cell(", ".join(sent) or "none yet", "", tone=tone, note=note)

    columns = [
        text_column("at", lambda row: text(zone.moment(row.notice.at, seconds=True))),
        text_column("kind", lambda row: text(row.notice.kind.value)),
        text_column("what", lambda row: Cell(row.notice.title, "", note=written(row.notice.text))),
        column("incidents", lambda row: Cell(count(row.notice.n_incidents))),
        text_column("told by", fate),
    ]
    return record_table(columns, rows, "Notices, the newest first")


def list_journaled(rows: Sequence[tuple[str, AlertRaised]], zone: Zone) -> Table:
    """Return alerts that sessions wrote into their journals."""

    def level(row: tuple[str, AlertRaised]) -> Cell:
        tone: Tone = "bad" if row[1].level.value == "critical" else ""
        return Cell(row[1].level.value, "", tone=tone)

    columns = [
        text_column("at", lambda row: text(zone.moment(row[1].at, seconds=True))),
        text_column("session", lambda row: text(row[0])),
        text_column("level", level),
        text_column("code", lambda row: text(row[1].code)),
        text_column("symbol", lambda row: text(row[1].symbol or "")),
        text_column("words", lambda row: text(row[1].text)),
    ]
    return record_table(columns, rows, f"Alerts in journals; times in {zone.label}")
