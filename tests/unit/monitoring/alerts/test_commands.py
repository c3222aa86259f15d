"""`tradingbot alerts`: list, test, silence, ack and a single look, as persons and programs ask."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.alert_servers import webhook_server
from fixtures.watched_workspace import trading
from tradingbot.app.cli.application import run
from tradingbot.monitoring.alerts.store import WATCHER, AlertStore

Ask = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run `alerts …`; return its code, its JSON where that was asked for, and stderr."""

    def asked(*words: str) -> tuple[int, Any, str]:
        code = run(["--workspace", str(tmp_path), "alerts", *words])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words and out else out, err

    return asked


def test_look_finds_what_fires_and_exits_with_1(tmp_path: Path, ask: Ask) -> None:
    with trading(tmp_path) as trader:
        assert ask("watch", "--once", "--json")[0] == 0
        trader.save("70000")

        code, document, said = ask("watch", "--once", "--json")

    (incident,) = document["incidents"]
    assert code == 1
    assert (incident["rule"], incident["subject"]) == ("drawdown", "session first")
    assert "CRITICAL: drawdown" in said


def test_incident_is_listed_taken_on_and_audited(tmp_path: Path, ask: Ask) -> None:
    with trading(tmp_path) as trader:
        trader.save("70000")
        ask("watch", "--once")
    (incident,) = ask("list", "--json")[1]["incidents"]

    code, taken, _ = ask("ack", incident["id"], "--reason", "on it", "--by", "mia", "--json")
    listed = ask("list", "--all", "--json")[1]
    table = ask("list")[1]

    assert (code, taken["acknowledged_by"]) == (0, "mia")
    assert [each["kind"] for each in listed["acts"]] == ["acknowledged"]
    assert listed["notices"][0]["kind"] == "fired"
    assert incident["id"] in table


def test_silence_is_made_listed_and_ended(ask: Ask) -> None:
    words = ("silence", "stale_data", "--reason", "vendor works", "--by", "mia", "--json")
    code, made, _ = ask(*words)
    assert (code, made["rule"], made["is_ended"]) == (0, "stale_data", False)
    assert [each["id"] for each in ask("list", "--json")[1]["silences"]] == [made["id"]]

    code, ended, _ = ask("silence", made["id"], "--end", "--reason", "done", "--json")

    assert (code, ended["is_ended"]) == (0, True)
    assert ask("list", "--json")[1]["silences"] == []


def test_rules_are_listed_with_unit_and_source(ask: Ask) -> None:
    code, found, _ = ask("list", "--show-rules", "--json")

    by_name = {each["name"]: each for each in found}
    assert code == 0
    assert by_name["drawdown"]["source"] == "journal"
    assert by_name["disk_last"]["unit"] == "bytes"
    assert "entropy_collapse" in ask("list", "--show-rules")[1]


def test_test_tries_each_channel_for_itself_and_shows_no_secret(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = "{kind: webhook, address: 'env:HOOK', allow_private: true}"
    (tmp_path / "alerts.yaml").write_text(f"extends: default\nchannels:\n  hook: {hook}\n")
    with webhook_server() as server:
        monkeypatch.setenv("HOOK", server.address)
        code, found, said = ask("test", "--json", "--by", "mia")
        assert code == 0
        assert [each["is_sent"] for each in found] == [True, True, True]
        server.status = 500
        code, (failed,), _ = ask("test", "hook", "--json")

    assert (code, failed["leads_to"]) == (1, "webhook http://127.0.0.1")
    assert "500" in failed["problem"]
    assert "s3cr3t" not in json.dumps([found, failed]) + said
    assert server.bodies[0]["kind"] == "test"
    acts = ask("list", "--all", "--json")[1]["acts"]
    assert [each["kind"] for each in acts] == ["tested", "tested"]


def test_u09_channel_into_the_own_network_is_refused_unless_it_is_allowed(
    tmp_path: Path, ask: Ask
) -> None:
    hook = "{kind: webhook, address: 'http://169.254.169.254/latest'}"
    (tmp_path / "alerts.yaml").write_text(f"extends: default\nchannels:\n  hook: {hook}\n")

    code, _, said = ask("watch", "--once")

    assert code == 2
    assert "own network, was 169.254.169.254 (channels.hook)" in said
    assert "allow_private: true" in said


def test_alerts_of_a_calm_workspace_say_how_to_begin(tmp_path: Path, ask: Ask) -> None:
    code, _, said = ask("list")

    assert code == 0
    assert f"tradingbot --workspace {tmp_path} alerts watch" in said


def test_commands_that_alerts_name_find_the_workspace_they_were_given(
    tmp_path: Path, ask: Ask
) -> None:
    """The words of a rule, told over a channel and listed afterwards, name `paper kill`."""
    wanted = f"then tradingbot --workspace {tmp_path} paper kill"
    with trading(tmp_path) as trader:
        trader.save("70000")
        _, _, said = ask("watch", "--once", "--json")
    listed = ask("list", "--all", "--json")[1]

    assert wanted in said
    assert wanted in listed["notices"][0]["text"]
    assert "tradingbot paper" not in said + json.dumps(listed)


def test_end_of_the_alerter_is_told_with_its_workspace(tmp_path: Path, ask: Ask) -> None:
    ask("list")
    with AlertStore(tmp_path) as store:
        store.beat(WATCHER, datetime.now(UTC) - timedelta(minutes=5), process=1, interval_s=1.0)

    code, _, said = ask("guard", "--once")

    assert code == 1
    assert f"Start it again: tradingbot --workspace {tmp_path} alerts watch" in said


@pytest.mark.parametrize("kind", ["webhook", "email"])
@pytest.mark.parametrize(
    "place",
    [
        *(
            "93.184.215.14:99999/s3cr3t-x",
            "93.184.215.14:port/s3cr3t-x",
            "93.184.215.14:0/s3cr3t-x",
        ),
        *("[::1/s3cr3t-x", "[nonsense]/s3cr3t-x", "/s3cr3t-x", "[::1]:-1/s3cr3t-x"),
    ],
)
def test_c05_address_that_is_none_is_one_error_of_the_user(
    tmp_path: Path, ask: Ask, kind: str, place: str
) -> None:
    scheme = "http" if kind == "webhook" else "smtp"
    more = ", sender: a@example.com, recipients: [b@example.com]" if kind == "email" else ""
    channel = f"{{kind: {kind}, address: '{scheme}://{place}'{more}}}"
    (tmp_path / "alerts.yaml").write_text(f"extends: default\nchannels:\n  far: {channel}\n")

    code, _, said = ask("test", "far", "--by", "mia")

    assert code == 2, said
    assert "this is a bug" not in said
    assert "channels.far" in said
    assert "s3cr3t" not in said


@pytest.mark.parametrize(
    "path", ["../x.jsonl", "../../x.jsonl", "alerts/../../x.jsonl", "..", ".", "~nobody-here/x"]
)
def test_file_of_a_channel_that_leaves_the_workspace_is_refused(
    tmp_path: Path, ask: Ask, path: str
) -> None:
    channel = f"{{kind: file, address: '{path}'}}"
    (tmp_path / "alerts.yaml").write_text(f"extends: default\nchannels:\n  kept: {channel}\n")
    before = sorted(tmp_path.parent.rglob("*.jsonl"))

    code, _, said = ask("test", "kept", "--by", "mia")

    assert code == 2, said
    assert "must stay in the workspace" in said
    assert path in said
    assert sorted(tmp_path.parent.rglob("*.jsonl")) == before


@pytest.mark.parametrize("place", ["whole", "alerts/../x.jsonl", "deep/x..jsonl"])
def test_file_of_a_channel_within_the_workspace_or_by_its_whole_path_is_written(
    tmp_path: Path, ask: Ask, place: str
) -> None:
    written = tmp_path / "elsewhere" / "x.jsonl" if place == "whole" else tmp_path / place
    channel = f"{{kind: file, address: '{written if place == 'whole' else place}'}}"
    (tmp_path / "alerts.yaml").write_text(f"extends: default\nchannels:\n  kept: {channel}\n")

    assert ask("test", "kept", "--by", "mia")[0] == 0

    assert len(Path(os.path.normpath(written)).read_text().splitlines()) == 1


def test_server_whose_address_is_none_is_one_error_of_the_user(tmp_path: Path, ask: Ask) -> None:
    for address in ("http://[::1", "http://127.0.0.1:99999"):
        (tmp_path / "alerts.yaml").write_text(f"extends: default\nservers: ['{address}']\n")

        code, _, said = ask("watch", "--once")

        assert code == 2, said
        assert "servers must be addresses" in said
