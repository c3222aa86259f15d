"""A name of a dataset that was given to other bars: what cites the old ones goes on with them."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from fixtures.paper_workspace import make_paper_workspace, market_until
from tradingbot.app.cli.application import run
from tradingbot.app.paper import running, signals
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.folder import Request, SessionFolder

DAYS = ("--from", "2025-10-08", "--to", "2025-10-10")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the session `week`, stopped, and its dataset's name on other bars."""
    workspace = make_paper_workspace(tmp_path_factory.mktemp("repointed"))
    folder = SessionFolder(workspace / "sessions" / "week")

    def stop_later(bar: MarketBar) -> float:
        if bar.number == folder.settings().first_bar + 3:
            folder.ask(Request("stop", "ada", "lunch"))
        return 0.0

    bundle = str(workspace / "drawn.zip")
    words = ("start", bundle, "--name", "week", "--dataset", "mine", *DAYS, "--unlimited")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(signals, "pace_of", lambda _: stop_later)
        assert run(["--workspace", str(workspace), "paper", *words, "--authorise", "ada"]) == 0
    ingest(market_until(date(2025, 10, 31)), BarStore(workspace), name="mine")
    return workspace


@pytest.fixture
def workspace(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it; the bundle stays where it was."""
    return Path(shutil.copytree(stopped, tmp_path / "workspace"))


def _old(workspace: Path) -> Path:
    settings = SessionFolder(workspace / "sessions" / "week").settings()
    return workspace / "datasets" / settings.data_sha256[:16]


def _paper(workspace: Path, *words: str) -> int:
    return run(["--workspace", str(workspace), "paper", *words])


def test_stopped_session_goes_on_with_the_bars_that_it_was_started_with(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert BarStore(workspace).open("mine").folder != _old(workspace)

    assert _paper(workspace, "resume", "week") == 0, capsys.readouterr().err
    assert _paper(workspace, "replay", "week", "--verify", "2025-10-09") == 0
    assert "come out" in capsys.readouterr().out


def test_stopped_session_is_killed_whatever_its_dataset_is_called(workspace: Path) -> None:
    assert _paper(workspace, "kill", "week", "--flatten") == 0
    assert not SessionFolder(workspace / "sessions" / "week").waiting()


def test_kill_of_a_session_whose_bars_are_gone_is_kept_and_says_so(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(old := _old(workspace))
    capsys.readouterr()

    assert _paper(workspace, "kill", "week") == 0
    told = capsys.readouterr()
    assert "week: kill goes on at the next resume" in told.out
    assert "Import the bars of" in told.out
    assert SessionFolder(workspace / "sessions" / "week").is_killed
    assert _paper(workspace, "resume", "week") == 2
    refused = capsys.readouterr().err
    assert "bars must be those that the session was started with" in refused
    assert f"Import the bars of {old.name} again" in refused


def test_kill_without_bars_cancels_what_is_open_at_a_venue_of_its_own(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(_old(workspace))
    folder = SessionFolder(workspace / "sessions" / "week")
    text = folder.settings_path.read_text(encoding="utf-8")
    at_alpaca = text.replace('"broker": "paper"', '"broker": "alpaca"')
    folder.settings_path.write_text(at_alpaca, encoding="utf-8")
    asked = list[str]()
    monkeypatch.setattr(running, "cancel_at_venue", lambda of: asked.append(of.name))

    assert _paper(workspace, "kill", "week") == 0
    assert asked == ["week"]
