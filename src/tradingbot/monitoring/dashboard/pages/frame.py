"""What every page has: navigation, colours, the zone of times, and who the reader is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.figures.style import CONFIG, Picture
from tradingbot.monitoring.dashboard.moments import ZONE_CHOICES, Zone, choose_zone
from tradingbot.monitoring.dashboard.palette import Palette, palette_of
from tradingbot.monitoring.dashboard.settings import DashboardSettings, read_settings
from tradingbot.monitoring.dashboard.sources.watched_workspace import WatchedWorkspace


@dataclass(frozen=True)
class Frame:
    """What a page is shown with."""

    watched: WatchedWorkspace
    palette: Palette
    zone: Zone

    @property
    def refresh_s(self) -> float:
        """Seconds between two looks."""
        return self.watched.settings.refresh_s

    def show(self, picture: Picture, key: str) -> None:
        """Show a picture under a key that stays its own."""
        st.plotly_chart(
            picture.figure, theme=None, key=key, config=CONFIG, alt=picture.alt, width="stretch"
        )


@st.cache_resource(show_spinner=False)
def open_workspace(settings: DashboardSettings) -> WatchedWorkspace:
    """Return the workspace that all readers of this server share."""
    return WatchedWorkspace(settings, lambda: datetime.now(UTC))


def show_dashboard(argument: str) -> None:
    """Show the page that the reader asked for."""
    from tradingbot.monitoring.dashboard.pages import live

    settings = read_settings(argument)
    st.set_page_config(page_title="TradingBot", layout="wide")
    watched = open_workspace(settings)
    pages: dict[str, Callable[[Frame], None]] = {
        "Live": live.show_live,
    }
    frame = _choose_frame(watched)
    st.html(markup.style_sheet(frame.palette))
    chosen = st.navigation(
        [
            st.Page(
                _bound(show, frame), title=title, url_path=title.lower(), default=title == "Live"
            )
            for title, show in pages.items()
        ],
        position="top",
    )
    chosen.run()


def _choose_frame(watched: WatchedWorkspace) -> Frame:
    theme = "dark" if st.context.theme.type == "dark" else "light"
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.html(
        f'<div class="tb-top"><b>TradingBot</b><span>workspace '
        f"{markup.text(watched.folder)}</span></div>"
    )
    choice: Any = right.segmented_control(
        "Times in", ZONE_CHOICES, default="market", key="zone", label_visibility="collapsed"
    )
    zone = choose_zone(choice or "market", market=watched.market_zone(), local=st.context.timezone)
    return Frame(watched, palette_of("dark" if theme == "dark" else "light"), zone)


def _bound(show: Callable[[Frame], None], frame: Frame) -> Callable[[], None]:
    def page() -> None:
        show(frame)

    return page
