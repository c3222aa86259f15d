"""Pages as Streamlit runs them, without a browser: every page with nothing, little and hostile."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fixtures.dashboard_pages import run_page, words_of
from fixtures.example_dossier import strange_dossier
from fixtures.watched_runs import evaluate_learning_run, make_learning_run
from fixtures.watched_sessions import (
    FIRST,
    HOSTILE,
    begin,
    fill_session,
    make_session,
    watch,
    writing,
)
from tradingbot.monitoring import dashboard
from tradingbot.monitoring.dashboard.moments import UTC_ZONE
from tradingbot.monitoring.dashboard.pages.agents import names_with_accounts_first
from tradingbot.monitoring.dashboard.pages.training import newest_with_decisions
from tradingbot.monitoring.dashboard.server import PAGE_SCRIPT
from tradingbot.monitoring.dashboard.settings import DashboardSettings
from tradingbot.serving.access.keys import KeyBook

WANTED = {
    "Live": ("EST", "account currency", "drawdown", "SPY"),
    "Agents": ("since the session began", "SPY", "EST"),
    "Training": ("toy", "synthetic", "steps per agent and second", "all actions are HOLD"),
    "Evaluation": ("hold", "synthetic", "bp"),
    "Models": ("tradingbot export",),
    "Ledger": ("Best by luck", "EST", "training"),
    "Alerts": ("QQQ is late", "EST", "kill switch"),
}
"""What each page must say of the example."""
PAGES = ("Live", "Agents", "Training", "Evaluation", "Models", "Ledger", "Alerts")


@pytest.mark.parametrize("page", PAGES)
def test_page_without_any_data_says_what_to_do(tmp_path: Path, page: str) -> None:
    shown = run_page(tmp_path / "none", page)

    assert "tradingbot" in words_of(shown)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("is_filled", [False, True], ids=["empty", "filled"])
def test_commands_of_a_page_name_the_workspace_that_it_shows(
    tmp_path: Path, page: str, is_filled: bool
) -> None:
    if is_filled:
        fill_session(tmp_path, bars=3)
        make_learning_run(tmp_path)

    shown = words_of(run_page(tmp_path, page, options="--workspace w"))

    commands = re.findall(r"\btradingbot (.{14})", shown)
    assert commands or is_filled
    assert all(each == "--workspace w " for each in commands), commands


@pytest.mark.parametrize("page", PAGES)
def test_U12_no_page_takes_a_file(tmp_path: Path, page: str) -> None:
    shown = run_page(tmp_path / "none", page)

    for kind in ("file_uploader", "camera_input", "audio_input", "chat_input"):
        assert not shown.get(kind), kind


def test_U12_nothing_of_the_dashboard_asks_for_a_file() -> None:
    folder = Path(dashboard.__file__).parent
    calls = {
        node.func.attr
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }

    assert {"plotly_chart", "selectbox"} <= calls  # it is the pages that were read
    assert not calls & {"file_uploader", "camera_input", "audio_input", "chat_input"}


def test_script_shows_the_first_page_and_navigation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit.testing.v1 import AppTest

    fill_session(tmp_path, bars=3)
    argument = DashboardSettings(str(tmp_path)).as_text()
    monkeypatch.setattr(sys, "argv", [str(PAGE_SCRIPT), argument])

    shown = AppTest.from_file(str(PAGE_SCRIPT), default_timeout=30).run()

    assert not shown.exception, shown.exception
    assert "first" in words_of(shown)


@pytest.mark.parametrize("page", PAGES)
def test_page_with_data_names_time_zone_and_data(tmp_path: Path, page: str) -> None:
    fill_session(tmp_path, bars=40)
    evaluate_learning_run(tmp_path, make_learning_run(tmp_path))

    shown = run_page(tmp_path, page)

    words = words_of(shown)
    for wanted in WANTED[page]:
        assert wanted in words, wanted


def test_reader_beyond_loopback_sees_nothing_without_a_key(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=4)
    now = datetime.now(UTC)
    made = KeyBook(tmp_path).create("eve", ("read",), at=now, lifetime=timedelta(days=1))
    shown = run_page(tmp_path, host="0.0.0.0")
    assert "first" not in words_of(shown)

    shown.text_input[0].input("tb_wrong")
    shown.button[0].click().run()
    assert "API key must be given" in words_of(shown)
    assert "equity" not in words_of(shown)

    shown.text_input[0].input(made.secret)
    shown.button[0].click().run()
    assert "first" in words_of(shown)


def test_live_page_shows_a_session(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=12)

    words = words_of(run_page(tmp_path))

    for wanted in ("100\u202f110", "drawdown", "MAX_POSITION", "Model", "Decision latency"):
        assert wanted in words, wanted


@pytest.mark.parametrize("page", PAGES)
def test_page_with_hostile_names_shows_them_as_text(tmp_path: Path, page: str) -> None:
    fill_session(tmp_path, bars=9, symbols=HOSTILE, words=HOSTILE)
    make_session(tmp_path, "empty")
    run = make_learning_run(tmp_path, agents=HOSTILE, words=HOSTILE[0])
    evaluate_learning_run(tmp_path, run, strange_dossier())

    words = words_of(run_page(tmp_path, page))

    assert "<script>" not in words.replace("<style>", "")


def silent_session(workspace: Path, name: str) -> None:
    """A session that was stopped before its first bar."""
    with writing(make_session(workspace, name)) as journal:
        journal.record(*begin(), session=name)


def test_hours_are_those_of_a_session_with_decisions_and_its_name_is_said(tmp_path: Path) -> None:
    make_learning_run(tmp_path)
    silent_session(tmp_path, "a-killed")
    fill_session(tmp_path, "b-week", bars=12)

    words = words_of(run_page(tmp_path, "Training"))

    assert "session b-week, the newest with decisions" in words


def test_run_whose_sessions_decided_nothing_says_so(tmp_path: Path) -> None:
    make_learning_run(tmp_path)
    silent_session(tmp_path, "a-killed")

    words = words_of(run_page(tmp_path, "Training"))

    assert "No decision was made yet by sessions of this run: a-killed." in words


def test_newest_session_with_decisions_is_the_first_of_those_that_have_any(
    tmp_path: Path,
) -> None:
    silent_session(tmp_path, "silent")
    for name in ("newer", "older"):
        fill_session(tmp_path, name, bars=4)

    found = newest_with_decisions(watch(tmp_path), ["gone", "silent", "newer", "older"], UTC_ZONE)

    assert found is not None
    assert found[0] == "newer"
    assert newest_with_decisions(watch(tmp_path), ["silent"], UTC_ZONE) is None


def test_agents_page_opens_on_a_session_with_accounts(tmp_path: Path) -> None:
    silent_session(tmp_path, "a-killed")
    fill_session(tmp_path, "b-week", bars=12)

    shown = run_page(tmp_path, "Agents")

    assert shown.selectbox[0].value == "session b-week"
    assert "No account was saved yet" not in words_of(shown)


def test_newest_of_the_sessions_with_accounts_stands_first(tmp_path: Path) -> None:
    for name in ("a", "b"):
        fill_session(tmp_path, name, bars=2)
    silent_session(tmp_path, "c")
    a, b, c = watch(tmp_path).sessions()
    later = FIRST + timedelta(days=1)

    found = names_with_accounts_first([c, a, replace(b, started_at=later)])

    assert found == ["b", "a", "c"]


def test_action_of_an_agent_has_its_time(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=12)

    words = words_of(run_page(tmp_path, "Agents"))

    assert re.search(r"smoothed, 2026-01-0\d \d\d:\d\d E[SD]T", words)
    assert "smoothed, last" not in words
