"""What `paper status` says of a session that has only just begun."""

from pathlib import Path

from fixtures.watched_sessions import FIRST, begin, make_session, settle, writing
from tradingbot.app.paper.status import status_of
from tradingbot.domain.events.session import ActAudited
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


def test_positions_that_a_kill_could_not_close_are_told_with_the_rule(tmp_path: Path) -> None:
    folder = make_session(tmp_path)
    details = {"flatten": "true", "cancelled": "0", "left:SPY": "PRICE_JUMP: limit=0.5 observed=1"}
    with writing(folder) as journal:
        journal.record(*begin(), settle(0), session="first")
        journal.record(ActAudited(FIRST, "kill", "ada", "drill", details), session="first")

    assert status_of(folder)["not_closed"] == {"SPY": "10: PRICE_JUMP: limit=0.5 observed=1"}
