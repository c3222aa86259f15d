"""What a dashboard answers to whom: its own hosts, its own forms, and no page of others."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fixtures.dashboard_server import dashboard_of, free_port

PATHS = (
    "/",
    "/agents",
    "/static/js/index.js",
    "/_stcore/health",
    "/_stcore/host-config",
    "/media/x",
)
_HANDSHAKE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
_KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


class Answer(NamedTuple):
    """Of a server."""

    status: int
    headers: dict[str, str]
    body: str


def ask(port: int, path: str, *hosts: str, method: str = "GET", **headers: str) -> Answer:
    """Ask as a browser that has a host in its address bar would; no host: none is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in [("Host", each) for each in hosts] + list(headers.items()):
        connection.putheader(name, value)
    connection.endheaders()
    got = connection.getresponse()
    told = {name.lower(): value for name, value in got.getheaders()}
    answer = Answer(got.status, told, got.read().decode("utf-8", "replace"))
    connection.close()
    return answer


def open_stream(port: int, host: str, origin: str) -> int:
    """Begin a websocket; return the status that is answered: 101 where it is opened."""
    lines = f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n"
    with socket.create_connection(("127.0.0.1", port), 20) as made:
        made.sendall(f"{lines}{_HANDSHAKE}{_KEY}\r\n".encode())
        return int(made.recv(4096).split()[1])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    options = ("--allow-host", "localhost:9999")
    with dashboard_of(tmp_path_factory.mktemp("workspace"), *options) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.parametrize("path", PATHS)
def test_u13_request_under_a_foreign_name_is_refused_whatever_it_asks_for(
    port: int, path: str
) -> None:
    answer = ask(port, path, f"evil.test:{port}")

    assert answer.status == 403
    assert "--allow-host" in answer.body
    assert "streamlit" not in answer.body.lower()


@pytest.mark.parametrize(
    "host",
    [
        *("evil.test", "localhost.evil.test:{port}", "127.0.0.1.evil.test:{port}", "127.0.0.1:1"),
        *("localhost", "user@127.0.0.1:{port}", "127.0.0.1:{port}.evil.test", "192.0.2.1:{port}"),
    ],
)
def test_u13_host_that_only_looks_like_a_served_one_is_refused(port: int, host: str) -> None:
    assert ask(port, "/", host.format(port=port)).status == 403


def test_u13_request_without_a_host_or_with_two_is_refused(port: int) -> None:
    good = f"127.0.0.1:{port}"

    assert ask(port, "/").status in (400, 403)
    assert ask(port, "/", good, "evil.test").status in (400, 403)
    assert ask(port, "/", "evil.test", good).status in (400, 403)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_hosts_of_loopback_are_served_and_no_page_may_frame_them(port: int, name: str) -> None:
    for path in ("/", "/_stcore/health"):
        answer = ask(port, path, f"{name}:{port}")

        assert answer.status == 200
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_host_that_was_allowed_is_served(port: int) -> None:
    assert ask(port, "/", "localhost:9999").status == 200
    assert open_stream(port, "localhost:9999", "http://localhost:9999") == 101


def test_u13_stream_under_a_foreign_name_is_refused(port: int) -> None:
    assert open_stream(port, f"evil.test:{port}", f"http://evil.test:{port}") == 403
    assert open_stream(port, f"127.0.0.1:{port}", f"http://127.0.0.1:{port}") == 101


@pytest.mark.parametrize("origin", ["http://evil.test", "http://localhost:1", "null", ""])
def test_u14_stream_that_a_page_of_others_opens_is_refused_without_a_call_to_anyone(
    port: int, origin: str
) -> None:
    """Streamlit alone opens it for any page of this machine, and asks others who it is."""
    assert open_stream(port, f"127.0.0.1:{port}", origin) == 403


def test_u14_answer_is_for_no_page_of_others(port: int) -> None:
    """Fails where server.enableCORS is off."""
    for path in ("/_stcore/health", "/_stcore/host-config"):
        answer = ask(port, path, f"127.0.0.1:{port}", Origin="http://evil.test")

        assert answer.status == 200
        assert "access-control-allow-origin" not in answer.headers


def test_u14_what_is_sent_without_the_token_of_the_page_is_refused(port: int) -> None:
    """Fails where server.enableXsrfProtection is off."""
    form = {"Content-Length": "0", "Cookie": "_streamlit_xsrf=guessed", "X-Xsrftoken": "guessed"}
    for method in ("PUT", "DELETE"):
        answer = ask(port, "/_stcore/upload_file/a/b", f"127.0.0.1:{port}", method=method, **form)

        assert answer.status == 403
        assert "XSRF" in answer.body


def test_stray_file_of_another_project_decides_nothing(tmp_path: Path) -> None:
    """Streamlit reads .streamlit/config.toml of the folder that it is started in."""
    (tmp_path / ".streamlit").mkdir()
    stray = "[server]\nenableXsrfProtection = false\nenableCORS = false\naddress = '0.0.0.0'\n"
    (tmp_path / ".streamlit" / "config.toml").write_text(stray)
    with dashboard_of(tmp_path, folder=tmp_path) as address:
        port = int(address.rpartition(":")[2])
        answer = ask(
            port,
            "/_stcore/upload_file/a/b",
            f"127.0.0.1:{port}",
            method="PUT",
            **{"Content-Length": "0"},
        )
        assert answer.status == 403
        assert open_stream(port, f"127.0.0.1:{port}", "http://evil.test") == 403


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_dashboard_that_is_ended_by_a_signal_says_no_more_and_leaves_with_0(
    tmp_path: Path, told: signal.Signals
) -> None:
    command = ("-m", "tradingbot.app.cli", "--workspace", str(tmp_path), "dashboard", "--port")
    asked = [sys.executable, *command, str(free_port())]
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Dashboard of"):
                break
        process.send_signal(told)
        rest = process.stderr.read()
        assert process.wait(20) == 0
    assert "Traceback" not in rest


def test_page_names_what_draws_charts_so_that_it_is_fetched_at_once(port: int) -> None:
    link = ask(port, "/", f"127.0.0.1:{port}").headers["link"]

    path, _, kind = link.partition("; ")
    assert kind == "rel=modulepreload"
    file = ask(port, path.strip("<>"), f"127.0.0.1:{port}")
    assert file.status == 200
    assert "javascript" in file.headers["content-type"]
    assert "plotly" in file.body.lower()
    assert "link" not in file.headers  # of pages alone
