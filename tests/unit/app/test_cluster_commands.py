"""`tradingbot cluster`: nodes are started, seen and stopped, and no other process is."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from fixtures.ray_nodes import commands_of
from tradingbot.app.cli.application import run
from tradingbot.cluster import local
from tradingbot.cluster.node_settings import NodeSettings
from tradingbot.cluster.processes import begun_at
from tradingbot.domain.errors import ConfigError


def test_cluster_is_started_seen_and_only_it_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--workspace", str(tmp_path / "w"), "cluster"]
    sizes = ["--cpus", "1", "--store-mb", "80", "--json"]
    try:
        assert run([*command, "start", *sizes]) == 0
        started = json.loads(capsys.readouterr().out)
        assert run([*command, "start", *sizes]) == 2
        assert "a cluster must be started once, was 1 node " in capsys.readouterr().err

        assert run([*command, "status", "--json"]) == 0
        seen = json.loads(capsys.readouterr().out)
    finally:
        assert run([*command, "stop", "--json"]) == 0
    (node,) = started["nodes"]
    assert node["is_head"]
    assert seen["answers"]
    assert [each["cpus"] for each in seen["nodes"]] == [1]
    token = tmp_path / "w" / "cluster" / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert json.loads(capsys.readouterr().out) == {"stopped": ["node-0"]}
    assert begun_at(node["process"]) == -1
    assert commands_of(node["process"]) == []
    assert run([*command, "stop"]) == 0
    assert "No node was started here" in capsys.readouterr().out


def test_head_that_is_not_there_is_waited_for_in_words_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_HEAD_S", 0.2)
    monkeypatch.setattr(local, "_KNOCK_S", 0.05)
    with socket.socket() as taken:  # bound, and deaf: nothing listens there
        taken.bind(("127.0.0.1", 0))
        head = f"127.0.0.1:{taken.getsockname()[1]}"
        (tmp_path / "token").write_text("t")
        told: list[str] = []
        settings = NodeSettings("", str(tmp_path / "token"), head=head)
        with pytest.raises(ConfigError, match="the head that is joined must answer") as refused:
            local.start_nodes(
                *(tmp_path / "cluster", settings), progress=lambda *words: told.append(words[2])
            )
    assert refused.value.where == head
    assert told[0] == f"waiting for the head {head}: 0 of 0.2 s"
    assert local.started_nodes(tmp_path / "cluster") == []


def test_process_that_has_the_number_of_a_node_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    own = {"name": "node-0", "process": os.getpid(), "begun": 1, "head": "h:1", "is_head": True}
    (folder / "nodes.json").write_text(json.dumps([own]))

    assert run(["--workspace", str(tmp_path), "cluster", "stop"]) == 0

    assert not (folder / "nodes.json").exists()  # and this test is still there to say so
