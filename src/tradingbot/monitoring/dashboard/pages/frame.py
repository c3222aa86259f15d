"""What every page has: navigation, colours, the zone of times, and who the reader is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from tradingbot.domain.named_commands import name_options
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.acts.desk import ActsDesk
from tradingbot.monitoring.dashboard.acts.dialogs import ask_for_key
from tradingbot.monitoring.dashboard.figures.style import CONFIG, Picture, blank_figure
from tradingbot.monitoring.dashboard.moments import ZONE_CHOICES, Zone, choose_zone
from tradingbot.monitoring.dashboard.palette import Palette, Theme, palette_of
from tradingbot.monitoring.dashboard.settings import DashboardSettings, read_settings
from tradingbot.monitoring.dashboard.sources.watched_workspace import WatchedWorkspace


@dataclass(frozen=True)
class Frame:
    """What a page is shown with."""

    watched: WatchedWorkspace
    desk: ActsDesk
    palette: Palette
    zone: Zone

    @property
    def refresh_s(self) -> float:
        """Seconds between two looks."""
        return self.watched.settings.refresh_s

    def with_workspace(self, text: str) -> str:
        """Write the commands that a text names so that they find this workspace."""
        return name_options(text, self.watched.settings.options)

    @contextmanager
    def reading(self, what: str, *, is_new: bool) -> Iterator[None]:
        """Say what is read for the first time; meanwhile the browser loads what draws it.

        Args:
            what: In words.
            is_new: Whether it was not read before; nothing is said of what was.
        """
        place = st.empty()
        if is_new:
            with place.container():
                st.html(markup.note(f"Reading {what} …"))
                self.show(Picture(blank_figure(self.palette), f"Reading {what}."), "reading")
        yield
        place.empty()

    def show_drawn(self, key: str, of: object, draw: Callable[[], Picture]) -> None:
        """Show a picture that is drawn again only where what it is of has changed."""
        drawn = st.session_state.setdefault("drawn", {})
        stamp = (of, self.zone.name, self.palette)
        if key not in drawn or drawn[key][0] != stamp:
            drawn[key] = (stamp, draw())
        self.show(drawn[key][1], key)

    def show(self, picture: Picture, key: str) -> None:
        """Show a picture under a key that stays its own."""
        st.plotly_chart(
            picture.figure, theme=None, key=key, config=CONFIG, alt=picture.alt, width="stretch"
        )


@st.cache_resource(show_spinner=False)
def open_workspace(settings: DashboardSettings) -> WatchedWorkspace:
    """Return the workspace that all readers of this server share."""
    return WatchedWorkspace(settings, lambda: datetime.now(UTC))


@st.cache_resource(show_spinner=False)
def open_desk(settings: DashboardSettings) -> ActsDesk:
    """Return the desk that all readers of this server share: one confirmation acts once."""
    return ActsDesk(settings.folder, lambda: datetime.now(UTC))


def show_dashboard(argument: str) -> None:
    """Show the page that the reader asked for."""
    st.set_page_config(page_title="TradingBot", layout="wide")
    frame = open_frame(read_settings(argument))
    if frame is None:
        return
    chosen = st.navigation(
        [
            st.Page(
                _bound(show, frame), title=title, url_path=title.lower(), default=title == "Live"
            )
            for title, show in page_functions().items()
        ],
        position="top",
    )
    chosen.run()


def page_functions() -> dict[str, Callable[[Frame], None]]:
    """Return the pages by their titles, in the order of the navigation."""
    from tradingbot.monitoring.dashboard.pages import (
        agents,
        alerts,
        evaluation,
        ledger,
        live,
        models,
        training,
    )

    return {
        "Live": live.show_live,
        "Agents": agents.show_agents,
        "Training": training.show_training,
        "Evaluation": evaluation.show_evaluation,
        "Models": models.show_models,
        "Ledger": ledger.show_ledger,
        "Alerts": alerts.show_alerts,
    }


def open_frame(settings: DashboardSettings) -> Frame | None:
    """Return what pages are shown with; None where the reader must give a key first."""
    watched, desk = open_workspace(settings), open_desk(settings)
    theme: Theme = "dark" if st.context.theme.type == "dark" else "light"
    st.html(markup.style_sheet(palette_of(theme)))
    if not settings.is_loopback and not ask_for_key(desk, settings.options):
        return None
    return _choose_frame(watched, desk, palette_of(theme))


def _choose_frame(watched: WatchedWorkspace, desk: ActsDesk, palette: Palette) -> Frame:
    left, right = st.columns([3, 1], vertical_alignment="center")
    whole, name = markup.attribute(str(watched.folder)), watched.folder.name
    shown = name if name == "workspace" else f"workspace {name}"
    left.html(
        f'<div class="tb-top"><b>TradingBot</b><span title="{whole}">'
        f"{markup.text(shown)}</span></div>"
    )
    choice: Any = right.segmented_control(
        "Times in", ZONE_CHOICES, default="market", key="zone", label_visibility="collapsed"
    )
    zone = choose_zone(choice or "market", market=watched.market_zone(), local=st.context.timezone)
    return Frame(watched, desk, palette, zone)


def _bound(show: Callable[[Frame], None], frame: Frame) -> Callable[[], None]:
    def page() -> None:
        show(frame)

    return page
