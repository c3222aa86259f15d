"""What `cluster start` refuses, and what it leaves where it fails; no Ray is started."""

from __future__ import annotations

import json
import socket
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tradingbot.app.cli.application import run
from tradingbot.cluster import local
from tradingbot.cluster.node_settings import NodeSettings, state_file
from tradingbot.cluster.processes import begun_at
from tradingbot.cluster.started_nodes import StartedNode, started_nodes
from tradingbot.cluster.token import TOKEN_FILE, own_token, read_token
from tradingbot.domain.errors import ConfigError

NODE = asdict(StartedNode("node-0", 4_000_000, 1, "h:1", is_head=True))


@pytest.mark.parametrize(
    "content",
    [
        b"[{",
        b"\xff\xfe",
        b"{}3",
        b"3",
        b"[3]",
        b'{"name": "node-0"}',
        b'[{"name": "node-0"}]',
        *(
            json.dumps([NODE | other]).encode()
            for other in (
                {"name": "../../other"},
                {"process": 0},
                {"process": "7"},
                {"begun": None},
                {"head": "h"},
                {"is_head": 1},
                {"ray_folder": "/home"},
                {"colour": "red"},
            )
        ),
    ],
)
def test_damaged_list_of_nodes_is_a_users_error_and_ends_nothing(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster" / "nodes.json"
    path.parent.mkdir()
    path.write_bytes(content)

    for command in ("status", "stop"):
        assert run(["--workspace", str(tmp_path), "cluster", command]) == 2
        told = capsys.readouterr().err
        assert "the list of nodes that were started here must be as it was written" in told
        assert "then delete it" in told
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "was"),
    [
        (b"", "was empty"),
        (b" \n", "was empty"),
        (b"\xff\xfe", "was other text or bytes"),
        (b"a b", "was other text or bytes"),
        (b"one\ntwo\n", "was other text or bytes"),
        (b"a" * 4_097, "was other text or bytes"),
    ],
)
def test_file_that_holds_no_token_is_refused_before_a_node_starts(
    content: bytes, was: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "given"
    given.write_bytes(content)
    place = ["--address", "127.0.0.1:1", "--token-file", str(given)]

    for command in ("start", "status"):
        assert run(["--workspace", str(tmp_path), "cluster", command, *place]) == 2
        told = capsys.readouterr().err
        assert (
            f"the token of the cluster must be one word of ASCII, 4,096 letters at most, {was}"
            in (told)
        )
    (tmp_path / TOKEN_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match="Delete it: another is drawn"):
        own_token(tmp_path, "")


def test_token_of_the_cluster_that_is_joined_takes_the_place_of_another(tmp_path: Path) -> None:
    drawn = read_token(own_token(tmp_path, ""))
    given = tmp_path / "given"
    given.write_text("another\n")

    kept, joined = (read_token(own_token(tmp_path, each)) for each in ("", str(given)))

    assert (kept, joined) == (drawn, "another")
    assert read_token(own_token(tmp_path, str(tmp_path / TOKEN_FILE))) == "another"


def test_port_that_is_taken_is_refused_before_a_node_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(
            ConfigError, match="the port of the head must be free, was Address"
        ) as e:
            local.start_nodes(tmp_path / "cluster", NodeSettings("", "", port=port))

    assert f"(port {port}). Give another with --port" in str(e.value)
    assert not (tmp_path / "cluster" / TOKEN_FILE).exists()


def test_node_that_fails_says_why_and_the_nodes_before_it_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[StartedNode] = []

    def start(settings: NodeSettings, place: Path) -> StartedNode:
        """Start a process in place of a node; the second ends at once."""
        place.mkdir()
        if settings.is_head:
            state_file(place).write_text(json.dumps({"address": "127.0.0.1:1"}))
        else:
            words = "Traceback:\n[2026-01-05 10:00:00,1 E 7 7] rpc.h:4: no room in memory\n"
            (place / "log.txt").write_text(words)
        command = ["sleep", "600" if settings.is_head else "0"]
        process = subprocess.Popen(command, start_new_session=True)
        began = begun_at(process.pid)
        process.returncode = 0  # it is ended by its number
        node = StartedNode(place.name, process.pid, began, settings.head, settings.is_head)
        begun.append(node)
        return node

    monkeypatch.setattr(local, "_start_node", start)

    with pytest.raises(ConfigError) as raised:
        local.start_nodes(tmp_path / "cluster", NodeSettings("", ""), 2)

    kept = tmp_path / "cluster" / "failed.txt"
    assert "a node must come up, was its process ended (no room in memory)" in str(raised.value)
    assert f"Look at {kept}" in str(raised.value)
    assert kept.read_text().startswith("Traceback:")
    assert [node.is_alive for node in begun] == [False, False]
    assert started_nodes(tmp_path / "cluster") == []


def test_logs_of_ray_itself_are_kept_with_that_of_a_head(tmp_path: Path) -> None:
    logs = tmp_path / "tb-ray-1" / "session_latest" / "logs"
    logs.mkdir(parents=True)
    (logs / "gcs_server.err").write_text("no room for Ray\n")
    (tmp_path / "node-0").mkdir()
    (tmp_path / "node-0" / "log.txt").touch()
    found: dict[str, Any] = NODE | {"ray_folder": str(tmp_path / "tb-ray-1")}

    told = local._keep_log(StartedNode(**found), tmp_path / "node-0")

    assert told == "it said nothing"
    assert "gcs_server.err:\nno room for Ray" in (tmp_path / "failed.txt").read_text()
