"""The script that Streamlit runs for every reader: which page, in which colours and zone."""

from __future__ import annotations

import sys

from tradingbot.monitoring.dashboard.pages.frame import show_dashboard

if __name__ == "__main__":
    show_dashboard(sys.argv[1])
