"""Pages as Streamlit runs them, without a browser: every page with nothing, little and hostile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures.watched_sessions import HOSTILE, fill_session, make_session
from tradingbot.monitoring.dashboard.server import PAGE_SCRIPT
from tradingbot.monitoring.dashboard.settings import DashboardSettings

PAGES = ("live",)


def run_page(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, page: str = "live", **settings: Any
) -> Any:
    """Run the script for one page, and return what it shows."""
    from streamlit.testing.v1 import AppTest

    chosen = DashboardSettings(str(workspace), **settings)
    monkeypatch.setattr(sys, "argv", [str(PAGE_SCRIPT), chosen.as_text()])
    shown = AppTest.from_file(str(PAGE_SCRIPT), default_timeout=30)
    shown.run()
    if page != "live":
        shown.switch_page(page)
        shown.run()
    assert not shown.exception, shown.exception
    return shown


def words_of(shown: Any) -> str:
    """Return everything that a page says."""
    return "\n".join(each.proto.body for each in shown.get("html"))


@pytest.mark.parametrize("page", PAGES)
def test_page_without_any_data_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    shown = run_page(tmp_path / "none", monkeypatch, page)

    assert "tradingbot" in words_of(shown)


def test_live_page_shows_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_session(tmp_path, bars=12)

    words = words_of(run_page(tmp_path, monkeypatch))

    for wanted in ("100\u202f110", "drawdown", "MAX_POSITION", "Model", "Decision latency"):
        assert wanted in words, wanted


@pytest.mark.parametrize("page", PAGES)
def test_page_with_hostile_names_shows_them_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    fill_session(tmp_path, bars=9, symbols=HOSTILE, words=HOSTILE)
    make_session(tmp_path, "empty")

    words = words_of(run_page(tmp_path, monkeypatch, page))

    assert "<script>" not in words.replace("<style>", "")
