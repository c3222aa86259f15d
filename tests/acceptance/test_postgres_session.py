"""A session whose journal is in PostgreSQL: every command finds it, and no password is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.paper_workspace import make_paper_workspace
from fixtures.postgres import PostgresServer, postgres, postgres_server
from tradingbot.app.cli.application import run
from tradingbot.app.paper import signals
from tradingbot.monitoring.dashboard.sources.session_place import find_sessions
from tradingbot.monitoring.dashboard.sources.session_watch import SessionWatch
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.folder import Request, SessionFolder

__all__ = ["postgres", "postgres_server"]

PASSWORD = "8f2c-never-shown"  # audit: no secret


def test_P08_a_session_is_journaled_in_postgresql_from_its_start_to_its_proof(
    tmp_path: Path,
    postgres: PostgresServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_paper_workspace(tmp_path)
    address = postgres.new_database()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    told = ""

    def tradingbot(*words: str, code: int = 0) -> str:
        nonlocal told
        assert run(["--workspace", str(workspace), *words]) == code, capsys.readouterr()
        printed = capsys.readouterr()
        told += printed.out + printed.err
        return printed.out

    bundle = str(workspace / "drawn.zip")
    start = ("paper", "start", bundle, "--dataset", "mine", "--from", "2025-10-08", "--unlimited")
    kept = tradingbot(*start, "--name", "file", "--authorise", "ada", "--json")
    whole = json.JSONDecoder().raw_decode(kept)[0]
    folder = SessionFolder(workspace / "sessions" / "far")
    stop_bar = json.loads((workspace / "sessions" / "file" / "session.json").read_text())[
        "stop_bar"
    ]

    def wait_s(bar: MarketBar) -> float:
        if bar.number == stop_bar - 8 and not folder.waiting():
            folder.ask(Request("stop", "ada", "lunch"))
        return 0.0

    with monkeypatch.context() as patched:
        patched.setattr(signals, "pace_of", lambda _: wait_s)
        tradingbot(*start, "--name", "far", "--authorise", "ada", "--journal", address)
    assert not folder.journal.exists()
    tradingbot("paper", "resume", "far")
    status = json.loads(tradingbot("paper", "status", "far", "--json"))
    for key in ("at", "equity_ccy", "cash_ccy", "positions"):
        assert status[key] == whole[key]

    tradingbot("paper", "kill", "far")
    assert json.loads(tradingbot("paper", "status", "far", "--json"))["tripped"] == ["kill_switch"]
    tradingbot("paper", "arm", "far", "--by", "ada", "--reason", "drill is over")

    assert "come out bit for bit" in tradingbot("paper", "replay", "far", "--verify", "2025-10-09")
    assert '"is_whole": true' in tradingbot("journal", "verify", "--journal", "far", "--json")
    assert "OrderFilled" in tradingbot(
        "journal", "show", "far", "--journal", "far", "--last", "200"
    )
    listed = {each["session"]: each for each in json.loads(tradingbot("paper", "list", "--json"))}
    assert listed["far"]["equity_ccy"] == whole["equity_ccy"]
    (place,) = [each for each in find_sessions(workspace, None) if each.name == "far"]
    watch = SessionWatch(place, signals.CLOCK.now)
    assert watch.look().n_fills == status["n_fills"] > 0
    watch.close()
    tradingbot("paper", "remove", "far", "--yes")
    tradingbot(*start, "--name", "far", "--journal", address, code=2)
    assert "new in its journal" in told
    with_password = address.replace("postgresql://", f"postgresql://postgres:{PASSWORD}@")
    tradingbot(*start, "--name", "leak", "--journal", with_password, code=2)
    assert PASSWORD not in told
    files = [path for path in workspace.rglob("*") if path.is_file()]
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
