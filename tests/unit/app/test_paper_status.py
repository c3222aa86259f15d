"""What `paper status` says of a session that has only just begun."""

from pathlib import Path

from tradingbot.app.paper.status import status_of
from tradingbot.runs.lock import hold_lock
from tradingbot.runtime.session.folder import SessionFolder


def test_session_without_a_journal_yet_is_starting(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path / "first")
    folder.path.mkdir()
    folder.settings_path.write_text("{}")
    with hold_lock(folder.path / "lock", "session"):
        told = status_of(folder)
    assert told == {
        "session": "first",
        "is_running": True,
        "phase": "starting",
        "warm_up": None,
        "next_bar_at": None,
    }
