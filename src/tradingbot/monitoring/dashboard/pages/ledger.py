"""Ledger: how often which data were tried, and how good the best of so many would be by luck."""

from __future__ import annotations

import streamlit as st

from tradingbot.domain.errors import UserError
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import count, format_count, plain
from tradingbot.evaluation.report.table import Cell, Table, column, record_table, text, text_column
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.figures.judged import draw_trials, ratio_words
from tradingbot.monitoring.dashboard.moments import Zone, read_moment
from tradingbot.monitoring.dashboard.pages.frame import Frame
from tradingbot.monitoring.dashboard.sources.trials import TrialsOfData
from tradingbot.runs.ledger import Entry, Trial

_NOTHING = "Nothing was tried yet. Train something: tradingbot train --preset quick"
_SHOWN = 200


def show_ledger(frame: Frame) -> None:
    """Show the page."""
    st.header("Ledger", anchor=False)

    @st.fragment(run_every=max(frame.refresh_s, 1.0))
    def page() -> None:
        try:
            found, entries = frame.watched.trials.by_data(), frame.watched.trials.entries()
        except UserError as e:
            words = frame.with_workspace(f"The ledger cannot be read: {e}")
            st.html(markup.note(words, tone="warm"))
            return
        if not found:
            st.html(markup.nothing(frame.with_workspace(_NOTHING)))
            return
        sizes = [format_count(len(each.counted), "trials") for each in found]
        names = [f"{each.data[:12]} ({size})" for each, size in zip(found, sizes, strict=True)]
        chosen = str(st.selectbox("Data", names, key="data"))
        _show_data(frame, found[names.index(chosen)] if chosen in names else found[0])
        with st.expander(f"Every entry, the last {min(len(entries), _SHOWN)} of {len(entries)}"):
            table = list_entries(entries[: -_SHOWN - 1 : -1], frame.zone)
            st.html(markup.table(table, nothing=frame.with_workspace(_NOTHING)))

    page()


def _show_data(frame: Frame, found: TrialsOfData) -> None:
    zone = frame.zone
    period = f"{zone.moment(found.first_at)} … {zone.moment(found.last_at)}"
    ratios, of = found.ratios, f"{ratio_words(found)}, test part"
    judged, bars = _judged_bars(frame, found)
    best = found.expected_best_of(bars)
    whose = f"; bars of the dossier of {judged}" if judged else ""
    st.html(
        markup.figures(
            [
                Figure("Trials", count(len(found.counted)), f"that count on these bars, {period}"),
                Figure("With a result", count(len(ratios)), "of them came to a test result"),
                Figure("Best", plain(max(ratios, default=float("nan")), 4), of),
                Figure(
                    "Best by luck",
                    plain(best, 4),
                    f"that the best of so many worthless trials is expected to have{whose}",
                ),
                Figure("Runs", count(len(found.runs)), "that looked at these bars"),
            ]
        )
    )
    frame.show(draw_trials(found, frame.palette, best), "trials")
    st.html(
        markup.note(
            f"Each dot is a trial's {ratio_words(found)}, on its test part, by its number in the "
            "ledger. A best below the dashed line is no more than luck."
        )
    )
    st.html(markup.table(list_trials(found), nothing=frame.with_workspace(_NOTHING)))


def _judged_bars(frame: Frame, found: TrialsOfData) -> tuple[str, float | None]:
    """Return the newest run with a dossier, and how many bars its judged track counts as."""
    for run in reversed(found.runs):
        dossier = frame.watched.evaluations.read(run).dossier
        if dossier is not None:
            bars = dossier.statistics.effective_bars
            return run, float(dossier.statistics.bars) if bars is None else bars
    return "", None


def list_trials(found: TrialsOfData) -> Table:
    """Return the trials on one set of bars, the newest first."""
    counted = {trial.sequence for trial in found.counted}

    def counts(trial: Trial) -> Cell:
        return text("yes" if trial.sequence in counted else "no: its training's own look")

    columns = [
        column("number", "sequence", "in the ledger", count),
        text_column("kind", "kind"),
        text_column("run", "run"),
        text_column("counts", counts),
        column("Sharpe of alpha", lambda t: _ratio(t.alpha_sharpe_per_bar), "per bar, test part"),
        column("Sharpe, net", lambda t: _ratio(t.sharpe_per_bar), "per bar, test part"),
    ]
    return record_table(columns, found.trials[::-1], f"Trials on data {found.data[:12]}")


def list_entries(entries: tuple[Entry, ...], zone: Zone) -> Table:
    """Return entries as they stand, the newest first."""
    columns = [
        column("number", "sequence", write=count),
        text_column("at", lambda e: text(zone.moment(read_moment(str(e.at)), seconds=True))),
        text_column("kind", "kind"),
        text_column("run", "run"),
        text_column("data", lambda e: text(e.data[:12])),
    ]
    return record_table(columns, entries, f"Entries; times in {zone.label}")


def _ratio(number: float | None) -> Cell:
    return Cell(plain(number, 4), number)
