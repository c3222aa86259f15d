"""`tradingbot paper`: start, status, stop, kill, arm, resume and proof of a session."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from acceptance.test_refusing_disk import can_mount
from fixtures.paper_workspace import make_paper_workspace
from fixtures.served_runs import make_served_run
from fixtures.small_disk import FOLLOW_STEPS
from fixtures.warm_process import run_warm
from tradingbot.app.cli.application import run
from tradingbot.app.paper import session as session_parts
from tradingbot.app.paper import signals
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.events.session import (
    ActAudited,
    AlertRaised,
    ModelLoaded,
    SessionStateSaved,
)
from tradingbot.risk.limits import SESSION_RISK, WIDEST_SESSION_LIMITS, SessionLimits
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.serving.bundle import read_bundle, write_bundle
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.served_model import ServedModel

TIGHT = ("--unlimited", "--limit", "stop_loss_frac=0.01")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of six weeks, and a model of weights that were drawn."""
    return make_paper_workspace(tmp_path_factory.mktemp("paper"))


class Paper:
    """The commands of one workspace."""

    def __init__(self, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace, self._capsys = workspace, capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        got = run(["--workspace", str(self.workspace), "paper", *words])
        told = self._capsys.readouterr()
        assert got == code, told.err
        return told.out + told.err

    def start(self, name: str, *words: str) -> dict[str, Any]:
        bundle = str(self.workspace / "drawn.zip")
        days = ("--dataset", "mine", "--from", "2025-10-08", "--to", "2025-10-10")
        out = self("start", bundle, "--name", name, *days, *words, "--json")
        document: dict[str, Any] = json.JSONDecoder().raw_decode(out)[0]  # notes follow
        return document

    def status(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self("status", name, "--json"))
        return document


@pytest.fixture
def paper(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Paper:
    return Paper(workspace, capsys)


def _stop_once(folder: SessionFolder) -> float:
    """Ask a session to stop before its first bar; no seconds are waited."""
    if not folder.waiting():
        folder.ask(Request("stop", "ada", "lunch"))
    return 0.0


def test_session_is_started_shown_and_proved(paper: Paper) -> None:
    document = paper.start("first", "--unlimited", "--shadow", str(paper.workspace / "drawn.zip"))

    assert document["ending"] == "finished"
    assert document["n_fills"] > 3
    assert document["n_sent"] == document["n_judged"] - document["orders"].get("denied", 0)
    assert document["denials"].keys() <= {"MIN_TRADE_VALUE"}
    assert paper.status("first") == {k: v for k, v in document.items() if k != "ending"}
    assert document["shadow_differs"]["differ"] == 0
    assert document["shadow_differs"]["decisions"] == 3 * 20
    with SessionFolder(paper.workspace / "sessions" / "first").hold():  # while another trades it
        told = paper("replay", "first", "--verify", "2025-10-09")
    assert re.search(r"21 decisions of 2025-10-09 and their [1-9]\d* orders come out", told)
    told = paper("replay", "first", "--verify", "2025-01-09", code=2)
    assert "a day that is verified must have a decision" in told


def test_stopped_session_goes_on_where_it_was(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = paper.start("whole", "--unlimited", "--parts", "2")
    folder = SessionFolder(paper.workspace / "sessions" / "halves")
    stop_bar = json.loads((folder.path.parent / "whole" / "session.json").read_text())["stop_bar"]

    def wait_s(bar: MarketBar) -> float:
        if bar.number == stop_bar - 8 and not folder.waiting():
            folder.ask(Request("stop", "ada", "lunch"))
        return 0.0

    with monkeypatch.context() as patched:
        patched.setattr(signals, "pace_of", lambda _: wait_s)
        half = paper.start("halves", "--unlimited", "--parts", "2")
    assert half["ending"] == "stopped"
    assert 0 < half["n_judged"] < whole["n_judged"]
    assert "finished" in paper("resume", "halves")

    halves = paper.status("halves")
    for key in ("equity_ccy", "cash_ccy", "positions", "orders", "n_fills"):
        assert halves[key] == whole[key]


def test_damaged_sessions_are_listed_with_what_is_wrong(paper: Paper, tmp_path: Path) -> None:
    contents = {"emptied": "", "foreign": "{}", "nested": "[" * 100_000, "listed": "[1, 2]"}
    for name, text in contents.items():
        (tmp_path / "sessions" / name).mkdir(parents=True)
        (tmp_path / "sessions" / name / "session.json").write_text(text)
    damaged = Paper(tmp_path, paper._capsys)

    listed = json.loads(damaged("list", "--json"))

    assert [each["session"] for each in listed] == sorted(contents)
    for each in listed:
        assert "session.json must be readable" in each["trading_state"]
    assert "session.json must be readable" in " ".join(damaged("list").split())
    for name in contents:
        assert "session.json must be readable" in damaged("remove", name, "--yes", code=2)


def test_finished_session_is_resumed_without_streaming_its_bars_again(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = paper.start("ended", "--unlimited")
    with monkeypatch.context() as patched:
        unwanted = mock.Mock(side_effect=AssertionError("the model was opened"))
        patched.setattr(ServedModel, "open", unwanted)
        assert json.loads(paper("resume", "ended", "--json")) == document

    folder = SessionFolder(paper.workspace / "sessions" / "ended")
    folder.ask(Request("kill", "ada", "drill"))  # somebody asks something of it
    assert "finished" in paper("resume", "ended")
    assert paper.status("ended")["tripped"] == ["kill_switch"]


def test_next_command_is_named_with_the_workspace(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SessionFolder(paper.workspace / "sessions" / "hinted")

    monkeypatch.setattr(signals, "pace_of", lambda _: lambda _: _stop_once(folder))
    words = ("--dataset", "mine", "--from", "2025-10-08", "--to", "2025-10-10")
    told = paper("start", str(paper.workspace / "drawn.zip"), "--name", "hinted", *words)
    assert f"tradingbot --workspace {paper.workspace} paper resume hinted" in told


def test_a_model_that_was_not_promoted_trades_on_the_built_in_broker_and_is_journaled(
    paper: Paper,
) -> None:
    bundle = str(paper.workspace / "drawn.zip")
    days = ("--dataset", "mine", "--from", "2025-10-08", "--to", "2025-10-08")
    told = paper("start", bundle, "--name", "unknown", *days, "--unlimited")
    assert "the model is not registered, not evaluated" in " ".join(told.split())
    paper("swap", "unknown", str(paper.workspace / "other.zip"))
    with JournalReader.at(paper.workspace / "sessions" / "unknown" / "journal.sqlite") as journal:
        loaded = journal.events("unknown", ModelLoaded)
    for each in loaded:
        assert isinstance(each, ModelLoaded)
        assert each.verdict == "not evaluated"
        assert each.details["standing"] == "not registered, not evaluated"
    assert len(loaded) == 2


def test_sessions_are_listed_and_removed(paper: Paper) -> None:
    paper.start("done", "--unlimited", "--to", "2025-10-08")
    listed = {each["session"]: each for each in json.loads(paper("list", "--json"))}
    assert listed["done"]["is_running"] is False
    assert (listed["done"]["broker"], listed["done"]["trading_state"]) == ("paper", "active")
    assert "done" in paper("list")

    assert "must be confirmed" in paper("remove", "done", code=2)
    folder = SessionFolder(paper.workspace / "sessions" / "done")
    with folder.hold():
        assert "done" in paper("remove", "done", "--yes", code=2)
    document = json.loads(folder.settings_path.read_text())
    folder.settings_path.write_text(json.dumps({**document, "broker": "alpaca"}))
    assert "must hold nothing of a session that is removed" in paper(
        "remove", "done", "--yes", code=2
    )
    folder.settings_path.write_text(json.dumps(document))
    assert paper("remove", "done", "--yes") == "done is removed\n"
    assert not folder.path.exists()
    paper.start("done", "--unlimited", "--to", "2025-10-08")  # its name is free again


def test_kill_holds_until_an_authorised_person_arms(paper: Paper) -> None:
    document = paper.start("killed", "--unlimited", "--authorise", "ada")
    assert document["trading_state"] == "active"
    told = paper("kill", "killed", "--by", "bob", "--reason", "drill", "--json")
    done = {"session": "killed", "act": "kill", "is_done": True, "trading_state": "halted"}
    assert json.loads(told) == done
    assert paper.status("killed")["tripped"] == ["kill_switch"]

    assert '"error"' in paper("stop", "killed", "--json", code=2)  # it does not run
    told = paper("arm", "killed", "--by", "eve", "--reason", "why not", code=2)
    assert "only an authorised person" in told
    assert "active" in paper("arm", "killed", "--by", "ada", "--reason", "drill is over")
    assert paper.status("killed")["tripped"] == []


def test_B22_a_kill_before_the_first_bar_is_shown_and_holds(paper: Paper) -> None:
    folder = SessionFolder(paper.workspace / "sessions" / "early")
    folder.requests.mkdir(parents=True)
    folder.ask(Request("stop", "ada", "lunch"))  # obeyed while it warms up
    told = paper.start("early", "--unlimited", "--authorise", "ada")
    assert (told["ending"], told["at"], told["trading_state"]) == ("stopped", None, "active")
    assert "it is halted" in paper("kill", "early", "--by", "", "--reason", "")

    status = paper.status("early")
    assert (status["trading_state"], status["tripped"]) == ("halted", ["kill_switch"])
    paper("resume", "early")
    assert paper.status("early")["n_fills"] == 0
    assert paper.status("early")["tripped"] == ["kill_switch"]


def test_B22_a_kill_that_waits_is_obeyed_before_anything_is_sent(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:  # journaled, not sent: as a kill -9 leaves it
        patched.setattr(Desk, "send", mock.Mock(side_effect=KeyboardInterrupt))
        words = ("--dataset", "mine", "--from", "2025-10-08", "--to", "2025-10-10", "--unlimited")
        paper("start", str(paper.workspace / "drawn.zip"), "--name", "cut", *words, code=130)
    assert paper.status("cut")["n_judged"] > 0
    folder = SessionFolder(paper.workspace / "sessions" / "cut")
    (folder.requests / "halt").write_text("")
    sent = mock.Mock(side_effect=AssertionError("an order was sent after the kill"))
    monkeypatch.setattr(PaperBroker, "submit", sent)
    paper("resume", "cut")

    status = paper.status("cut")
    assert (status["tripped"], status["n_fills"]) == (["kill_switch"], 0)
    assert not {"submitted", "accepted", "filled"} & status["orders"].keys()


def test_B22_a_kill_does_not_wait_for_the_next_bar_of_a_slow_replay(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = datetime(2026, 1, 5, tzinfo=UTC)
    asked_at, now = begun + timedelta(hours=3, minutes=10), [begun]
    folder = SessionFolder(paper.workspace / "sessions" / "slow")

    def sleep(seconds: float) -> None:
        before, now[0] = now[0], now[0] + timedelta(seconds=seconds)
        if before < asked_at <= now[0]:
            folder.ask(Request("kill", "ada", "drill"))
            folder.ask(Request("stop", "ada", "drill"))

    monkeypatch.setattr(signals, "CLOCK", Clock(sleep=sleep, now=lambda: now[0]))
    paper.start("slow", "--unlimited", "--speed", "1")

    with JournalReader.at(folder.journal) as journal:
        acts = {each.act: each.at for each in journal.events("slow", ActAudited)}
        decided = {each.decided_at for each in journal.decisions("slow")}
    assert timedelta(0) <= acts["kill"] - asked_at <= timedelta(seconds=2)
    assert len(decided) == 4  # three hours after the first; history is not waited for


def test_refused_act_of_a_session_that_does_not_run_is_an_error(paper: Paper) -> None:
    paper.start("refusing", "--unlimited", "--to", "2025-10-08")
    other = make_served_run(paper.workspace / "elsewhere", "two", symbols=("A", "B"), encoder=None)
    export_run(other, paper.workspace / "two.zip", n_hostile=20)

    told = paper("swap", "refusing", str(paper.workspace / "two.zip"), code=2)
    assert "must decide for the symbols" in told
    assert "done" not in told
    assert SessionFolder(paper.workspace / "sessions" / "refusing").waiting() == []


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk to fill")
def test_P03_a_session_on_a_full_disk_ends_with_an_error_and_goes_on_later(
    paper: Paper, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (paper.workspace / "sessions").mkdir(exist_ok=True)
    (paper.workspace / "sessions" / "full").symlink_to(disk)
    start = ["start", str(paper.workspace / "drawn.zip"), "--name", "full", "--dataset", "mine"]
    start += ["--from", "2025-10-08", "--to", "2025-10-10", "--unlimited"]
    words = ["--workspace", str(paper.workspace), "paper"]
    steps = [
        ["run", "start", *words, *start],
        ["remount", "size=16m"],
        ["run", "resume", *words, "resume", "full"],
        ["run", "status", *words, "status", "full", "--json"],
        ["run", "verify", *words[:2], "journal", "verify", "--journal", "full"],
    ]
    done = run_warm([str(disk), "400k", str(tmp_path), json.dumps(steps)], function=FOLLOW_STEPS)

    assert done == (0, "", "")
    codes = {name: (tmp_path / f"{name}.code").read_text() for _, name, *_ in steps[:1] + steps[2:]}
    told = (tmp_path / "start.err").read_text()
    assert codes == {"start": "2", "resume": "0", "status": "0", "verify": "0"}, told
    assert "journal must confirm what is recorded" in told
    assert "finished" not in (tmp_path / "start.out").read_text()


def test_limits_of_an_order_are_set_and_what_they_deny_is_told(paper: Paper) -> None:
    wide = ("min_confidence=0", "max_open_order_frac=2", "max_correlated_frac=2")
    limits = [word for each in wide for word in ("--limit", each)]
    document = paper.start("narrow", *limits, "--limit", "max_position_frac=0.01")
    denied = document["denials"]["MAX_POSITION"]
    document = paper.start("wider", *limits, "--limit", "max_position_frac=0.5")
    assert document["denials"].get("MAX_POSITION", 0) < denied
    assert document["n_fills"] > 0
    symbols = sorted(document["positions"])[:2]
    restricted = f"restricted_symbols={symbols[0]},{symbols[1]}"
    document = paper.start("restricted", "--unlimited", "--limit", restricted)
    assert not set(symbols) & document["positions"].keys()
    assert document["denials"]["SYMBOL_RESTRICTED"] > 0

    bundle = str(paper.workspace / "drawn.zip")
    days = ("--dataset", "mine", "--from", "2025-10-08")
    narrow = ("--limit", "max_position_frac=0.01", "--limit", "restricted_symbols=ZZZZ")
    told = " ".join(paper("start", bundle, "--name", "told", *days, *narrow).split())
    assert "restricted_symbols: the model has no ZZZZ" in told
    before = r"limits deny (\d+) of (\d+) orders that the model wants at the 39 bars before: "
    found = re.search(
        before + r".*MAX_POSITION \d+.* e\.g\. .*--limit max_position_frac=0\.06", told
    )
    assert found is not None
    assert 0.1 < int(found[1]) / int(found[2]) <= 1.0
    for name, words in {"wide": ("--limit", "max_position_frac=0.06"), "open": ()}.items():
        told_wide = paper("start", bundle, "--name", name, *days, *(words or ("--unlimited",)))
        assert "MAX_POSITION" not in told_wide
    assert "--authorise names who may arm it" in " ".join(told.split())


REFUSED = {
    "--limit max_position=0.5": "must be one of a session or of an order",
    "--limit max_trades=5 --limit max_trades=6": "must have one value, was 5 and 6",
    "--authorise=": "--authorise must be a name",
    "--latency 1e300": "86400",
    "--parts 1000000000": "1000",
}


@pytest.mark.parametrize("words", REFUSED)
def test_options_that_cannot_act_are_refused_and_the_name_stays_free(
    paper: Paper, words: str
) -> None:
    bundle = str(paper.workspace / "drawn.zip")
    told = paper("start", bundle, "--name", "odd", "--dataset", "mine", *words.split(), code=2)
    assert REFUSED[words] in " ".join(told.split())
    assert not (paper.workspace / "sessions" / "odd").exists()


def test_a_blank_name_arms_nothing(paper: Paper) -> None:
    paper.start("nameless", "--unlimited", "--to", "2025-10-08", "--authorise", "ada")
    path = paper.workspace / "sessions" / "nameless" / "session.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "authorised": [""]}))  # of an earlier version
    told = paper("arm", "nameless", "--by", "", "--reason", "why not", code=2)
    assert "only an authorised person" in told


def test_P11_a_restored_journal_goes_on_at_the_built_in_broker(
    paper: Paper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = paper.start("kept", "--unlimited", "--authorise", "ada")
    folder, backup = paper.workspace / "sessions" / "kept", str(tmp_path / "kept.sqlite")
    with JournalReader.at(folder / "journal.sqlite") as journal:
        decided = sorted({each.decided_at for each in journal.decisions("kept")})
        entries = [
            each.seq
            for each in journal.newest("kept", limit=10_000, kind=SessionStateSaved)
            if isinstance(each.event, SessionStateSaved) and each.event.at == decided[9]
        ]
    words = ["--workspace", str(paper.workspace)]
    assert run([*words, "journal", "backup", backup, "--journal", "kept"]) == 0
    for each in folder.glob("journal.sqlite*"):
        each.rename(tmp_path / f"broken-{each.name}")
    restore = ["journal", "restore", backup, "--journal", "kept", "--until", str(entries[-1])]
    assert run([*words, *restore]) == 0
    capsys.readouterr()
    told = paper("resume", "kept", "--adopt", "ada", code=2)
    assert "--adopt must stand with a venue that others trade at" in told

    paper("resume", "kept")
    again = paper.status("kept")
    for key in ("equity_ccy", "cash_ccy", "positions", "orders", "n_fills"):
        assert again[key] == whole[key]
    assert re.search(r"^[A-Z_]+: .*they were taken back", again["alerts"][-1])


DRILLS = re.findall(
    r"^\| `(\w+)` \| `(--limit [^`]+)` \|$",
    (ROOT / "docs" / "how_to" / "trade_on_paper.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        pytest.param(*each, id=each[0], marks=[] if number % 4 == 0 else pytest.mark.slow)
        for number, each in enumerate(DRILLS)
    ],
)
def test_drill_of_the_how_to_trips_its_control(paper: Paper, code: str, options: str) -> None:
    name = f"drill-{code.lower().replace('_', '-')}"
    document = paper.start(name, "--unlimited", *options.split())

    assert document["denials"].get(code, 0) > 0, document["denials"]


def test_how_to_has_drills() -> None:
    assert len(DRILLS) >= 18


def test_plain_start_has_the_limits_of_the_bundle_and_its_stop_loss(paper: Paper) -> None:
    document = paper.start("limited")

    assert document["denials"]["LOW_CONFIDENCE"] > 0
    limited, wide, asked = (
        SessionFolder.open(paper.workspace, name).settings()
        for name in ("limited", "first", paper.start("tight", *TIGHT)["session"])
    )
    assert limited.session_limits == SessionLimits()
    assert limited.limits.max_position_frac == SESSION_RISK.max_position_frac
    assert limited.rules.account.position_loss_frac == SessionLimits().stop_loss_frac
    assert wide.session_limits == WIDEST_SESSION_LIMITS
    assert asked.rules.account.position_loss_frac == 0.01


def test_C08_session_goes_on_with_its_own_model_and_bars_alone(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SessionFolder(paper.workspace / "sessions" / "own")
    with monkeypatch.context() as patched:
        patched.setattr(signals, "pace_of", lambda _: lambda _: _stop_once(folder))
        assert paper.start("own", "--unlimited")["ending"] == "stopped"
    bundle = paper.workspace / "drawn.zip"
    whole = bundle.read_bytes()
    try:
        bundle.write_bytes((paper.workspace / "other.zip").read_bytes())
        assert "the one that was recorded" in paper("resume", "own", code=2)
    finally:
        bundle.write_bytes(whole)
    read = session_parts.open_bars
    monkeypatch.setattr(session_parts, "open_bars", lambda *of: (*read(*of)[:2], "0" * 64))

    assert "bars must be those that the session was started with" in paper("resume", "own", code=2)


def test_M11_days_that_the_model_learned_from_are_called_in_sample(paper: Paper) -> None:
    found = read_bundle(paper.workspace / "drawn.zip")
    periods = {
        **found.manifest.periods,
        "validation": DayRange("2025-07-01", "2025-09-10", 300),
        "test": DayRange("2025-09-11", "2025-12-31", 300),
    }
    late = paper.workspace / "late.zip"
    write_bundle(late, found.manifest.model_copy(update={"periods": periods}), found.files)
    days = ("--dataset", "mine", "--unlimited", "--to", "2025-09-12", "--from")

    after = paper("start", str(late), "--name", "after", *days, "2025-09-11")
    within = paper("start", str(late), "--name", "within", *days, "2025-09-10")

    assert "in sample" not in after
    assert "in sample, worth nothing as a test" in within


@pytest.mark.parametrize("act", ["resume", "arm"])
def test_B24_C07_settings_that_were_edited_are_refused_and_journaled(
    paper: Paper, act: str
) -> None:
    name = f"edited-{act}"
    paper.start(name, "--authorise", "ada")
    folder = SessionFolder.open(paper.workspace, name)
    whole = folder.settings_path.read_text()
    loose = json.loads(whole)
    loose["session_limits"]["max_daily_loss_frac"] = 1.0
    loose["authorised"] = ["mallory"]
    folder.settings_path.write_text(json.dumps(loose))
    by = ("--by", "mallory", "--reason", "more") if act == "arm" else ()

    told = paper(act, name, *by, code=2)

    assert "settings of a session must be those that it was started with" in told
    with JournalReader.at(folder.journal) as journal:
        alerts = [each.event for each in journal.newest(name, kind=AlertRaised)]
    assert alerts[-1].code == "SETTINGS_CHANGED"
    assert "halted" in paper("kill", name, "--by", "ada", "--reason", "edited")  # always heard
    folder.settings_path.write_text(whole)
    assert paper.status(name)["tripped"] == ["kill_switch"]
