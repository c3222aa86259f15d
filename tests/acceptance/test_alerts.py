"""Alerts over processes: a trip reaches a server, and a killed alerter is told by its guard."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.alert_servers import Received, webhook_server
from fixtures.model_servers import wait_until
from fixtures.warm_process import WarmProcess, run_warm
from fixtures.watched_workspace import trading
from tradingbot.monitoring.alerts.reading import AlertReader

FILE = """
extends: default
interval_s: 0.1
channels:
  hook: {{kind: webhook, address: "env:HOOK", allow_private: true}}
"""


@pytest.fixture
def server() -> Iterator[Received]:
    with webhook_server() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "alerts.yaml").write_text(FILE.format())
    return tmp_path


def watch(workspace: Path, server: Received, *more: str) -> WarmProcess:
    arguments = ["--workspace", str(workspace), "alerts", "watch", *more]
    return WarmProcess(arguments, environment={"HOOK": server.address})


def require_no_secret(workspace: Path) -> None:
    """C11: the address of a channel stands in no file and no command line."""
    wait_until(lambda: any(str(workspace).encode() in line for line in command_lines()))
    assert [line for line in command_lines() if b"s3cr3t" in line] == []
    files = [path for path in workspace.rglob("*") if path.is_file()]
    assert len(files) > 1
    assert [path for path in files if b"s3cr3t" in path.read_bytes()] == []


def command_lines() -> list[bytes]:
    """Of every process of the machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            lines.append(path.read_bytes())
    return lines


def is_alive(workspace: Path) -> bool:
    heartbeat = AlertReader(workspace).heartbeat()
    return heartbeat is not None and not heartbeat.is_late(datetime.now(UTC))


def test_kill_switch_of_a_session_reaches_a_server_over_processes(
    workspace: Path, server: Received
) -> None:
    with trading(workspace) as trader, watch(workspace, server, "--no-guard") as alerter:
        wait_until(lambda: is_alive(workspace))
        trader.kill(datetime.now(UTC))
        (body,) = server.wait_for(1)
        listed = run_warm(["--workspace", str(workspace), "alerts", "list", "--all", "--json"])[1]
        alerter.send_signal(signal.SIGTERM)
        out, said = alerter.communicate(60)
        assert alerter.wait(60) == 0

    assert body["title"] == "CRITICAL: breaker_tripped, session first"
    assert "kill_switch" in body["message"]
    assert "s3cr3t" not in out + said + listed
    heartbeat = AlertReader(workspace).heartbeat()
    assert heartbeat is not None
    assert heartbeat.stopped_at is not None


def test_u08_killed_alerter_is_told_by_its_guard(workspace: Path, server: Received) -> None:
    with watch(workspace, server) as alerter:
        wait_until(lambda: is_alive(workspace))
        require_no_secret(workspace)
        alerter.kill()
        alerter.wait(60)
        (body,) = server.wait_for(1, seconds=60.0)

    assert (body["kind"], body["severity"]) == ("dead_man", "critical")
    assert f"process {alerter.pid} was heard of last" in body["message"]
    notices = AlertReader(workspace).notices()
    assert [each.notice.kind for each in notices] == ["dead_man"]


def test_guard_asked_once_says_whether_the_alerter_lives(workspace: Path, server: Received) -> None:
    asked = ["--workspace", str(workspace), "alerts", "guard", "--once", "--json"]
    environment = {"HOOK": server.address}
    with watch(workspace, server, "--no-guard") as alerter:
        wait_until(lambda: is_alive(workspace))
        code, out, _ = run_warm(asked, environment=environment)
        assert (code, json.loads(out)) == (0, {"alerter": "alive"})
        os.kill(alerter.pid, signal.SIGSTOP)  # it lives, and watches nothing
        wait_until(lambda: not is_alive(workspace))
        code, out, _ = run_warm(asked, environment=environment)
        alerter.kill()

    assert (code, json.loads(out)) == (1, {"alerter": "dead"})
    assert [each["kind"] for each in server.wait_for(1)] == ["dead_man"]
