"""The dashboard in a real Chromium: every page, empty to hostile, narrow to wide, both themes."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.dashboard_server import Reader, chromium, dashboard_of  # noqa: F401 - a fixture
from fixtures.example_dossier import large_dossier, strange_dossier
from fixtures.watched_runs import evaluate_learning_run, make_learning_run
from fixtures.watched_sessions import HOSTILE, begin, fill_session, make_session, settle, writing
from tradingbot.evaluation.report.numbers import plain
from tradingbot.serving.access.audit import AuditTrail
from tradingbot.serving.access.keys import KeyBook

PAGES = ("Live", "Agents", "Training", "Evaluation", "Models", "Ledger", "Alerts")
WIDTHS = (390, 1280, 2560)


def nothing(workspace: Path) -> None:
    """A workspace that is not there."""


def one_point(workspace: Path) -> None:
    with writing(make_session(workspace)) as journal:
        journal.record(*begin(), settle(0), session="first")
    evaluate_learning_run(workspace, make_learning_run(workspace, updates=1))


def much(workspace: Path) -> None:
    agents = tuple(f"S{place:03d}" for place in range(143))
    fill_session(workspace, bars=300, symbols=agents)
    run = make_learning_run(workspace, updates=400, agents=agents)
    evaluate_learning_run(workspace, run, large_dossier())


def hostile(workspace: Path) -> None:
    fill_session(workspace, bars=9, symbols=HOSTILE, words=HOSTILE)
    run = make_learning_run(workspace, agents=HOSTILE, words=HOSTILE[0])
    evaluate_learning_run(workspace, run, strange_dossier())


def test_new_bar_is_on_the_screen_without_a_complaint_and_nothing_leaves_the_machine(
    tmp_path: Path,
    chromium: Any,  # noqa: F811
) -> None:
    folder = fill_session(tmp_path, bars=5)
    with dashboard_of(tmp_path) as address:
        reader = Reader(chromium, address)
        with writing(folder) as journal, folder.hold():
            journal.record(settle(99, equity=123_456.0), session="first")
            reader.page.get_by_text(plain(123_456.0), exact=True).first.wait_for()
        for width in (1280, 390):
            assert reader.overflow(width) <= 0
            boxes = "[...document.querySelectorAll('.tb-scroll')]"
            found = reader.page.evaluate(f"{boxes}.map(e => e.scrollWidth - e.clientWidth)")
            assert found
            assert max(found) <= 0, (width, found)  # reasons and prices are read without scrolling
        reader.overflow(1280)
        reader.visit("Alerts")
        reader.page.get_by_text("QQQ is late").first.wait_for()
        reader.close()

    assert reader.complaints == []
    assert reader.foreign == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fill", [nothing, one_point, much, hostile])
def test_every_page_shows_without_complaint_at_every_width(
    tmp_path: Path,
    chromium: Any,  # noqa: F811
    fill: Callable[[Path], None],
    scheme: str,
) -> None:
    fill(tmp_path)
    with dashboard_of(tmp_path) as address:
        reader = Reader(chromium, address, scheme=scheme)
        for title in PAGES:
            words = reader.visit(title)
            assert "Traceback" not in words
            assert "alert(" not in reader.page.evaluate("document.title")
            widths = {width: reader.overflow(width) for width in WIDTHS}
            assert all(excess <= 0 for excess in widths.values()), (title, widths)
            reader.page.set_viewport_size({"width": 1280, "height": 900})
        scripts = "[...document.scripts].filter(s => s.textContent.includes('alert(')).length"
        assert reader.page.evaluate(scripts) == 0
        reader.close()

    assert reader.complaints == []
    assert reader.foreign == []


@pytest.mark.slow
def test_session_is_killed_with_a_key_and_a_confirmation_and_only_then(
    tmp_path: Path,
    chromium: Any,  # noqa: F811
) -> None:
    folder = fill_session(tmp_path, bars=5)
    now, day = datetime.now(UTC), timedelta(days=1)
    key = KeyBook(tmp_path).create("ada", ("trade",), at=now, lifetime=day).secret
    with dashboard_of(tmp_path) as address:
        reader = Reader(chromium, address)
        page = reader.page
        page.get_by_text("Act: stop, kill, arm").click()
        page.get_by_text("What will happen: Session first").wait_for()
        page.get_by_role("button", name="Do it, as said above").click()
        page.get_by_text("Nothing was done").wait_for()
        assert folder.waiting() == []
        page.get_by_label("API key", exact=True).fill(key)
        page.get_by_role("button", name="Do it, as said above").click()
        page.get_by_text("first was asked to kill by ada").wait_for()
        reader.close()

    assert [request.act for _, request in folder.waiting()] == ["kill"]
    assert AuditTrail(tmp_path).lines()[-1].detail.startswith("kill")
    assert reader.complaints == []


@pytest.mark.slow
def test_keyboard_reaches_the_pages(tmp_path: Path, chromium: Any) -> None:  # noqa: F811
    with dashboard_of(tmp_path) as address:
        reader = Reader(chromium, address)
        seen = []
        for _ in range(12):
            reader.page.keyboard.press("Tab")
            seen.append(reader.page.evaluate("document.activeElement.textContent"))
        reader.close()

    assert any("Agents" in each for each in seen)
    assert any("Alerts" in each for each in seen)


@pytest.mark.slow
def test_server_ends_with_its_process_and_frees_its_port(tmp_path: Path) -> None:
    with dashboard_of(tmp_path) as address:
        port = int(address.rpartition(":")[2])
    with socket.socket() as found:
        found.bind(("127.0.0.1", port))
