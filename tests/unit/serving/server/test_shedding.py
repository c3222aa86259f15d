"""What is shed without being parsed is one whole request for a prediction, and nothing else."""

from __future__ import annotations

import socket
import threading

import pytest

from fixtures.model_servers import ServedWorkspace, client_of, features_body, wait_until
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.protocol import is_whole_prediction

HEAD = (
    b"POST /v1/predict/features HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
)
WHOLE = HEAD + b"content-length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-1],
        WHOLE + b"G",
        WHOLE + WHOLE,
        HEAD + b"\r\n",
        HEAD + b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        HEAD + b"content-length: +2\r\n\r\n{}",
        HEAD + b"expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
        WHOLE.replace(b"POST /v1/predict", b"POST /v1/admin"),
        WHOLE.replace(b"POST", b"GET"),
        b"",
    ],
)
def test_anything_less_plain_is_parsed(data: bytes) -> None:
    assert not is_whole_prediction(data)
    assert is_whole_prediction(WHOLE)


def test_a_connection_that_was_shed_goes_on(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, decide = threading.Event(), ServedModel.decide

    def slow(self: ServedModel, *args: object) -> object:
        free.wait(20)
        return decide(self, *args)  # type: ignore[arg-type]

    parts = workspace.parts(threads=1, waiting=0)
    with client_of(parts) as client:
        monkeypatch.setattr(ServedModel, "decide", slow)
        url = client.base_url.join("/v1/predict/features")
        holder = threading.Thread(target=lambda: client.post(url, json=features_body()))
        holder.start()
        wait_until(lambda: parts.pool.is_full)
        with socket.create_connection(("127.0.0.1", client.base_url.port), timeout=10) as again:
            told = []
            for sent in (WHOLE, WHOLE, b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n"):
                again.sendall(sent)
                said = b""
                while not said.endswith(b"}"):
                    said += again.recv(4096)
                told.append(said)
            again.sendall(WHOLE[:40])  # in two parts: the usual way
            again.sendall(WHOLE[40:])
            said = again.recv(4096)
            free.set()
        holder.join(20)

    assert [each[9:12] for each in (*told, said)] == [b"503", b"503", b"200", b"503"]
    assert b"retry-after: 1" in told[0]
    assert b'"code": "busy"' in told[0]


def test_places_are_promised_before_anything_is_parsed(workspace: ServedWorkspace) -> None:
    pool = workspace.parts(threads=1, waiting=2).pool
    promised = [pool.reserve() for _ in range(5)]
    pool.release()

    assert promised == [True, True, True, False, False]
    assert [pool.reserve(), pool.reserve()] == [True, False]


def test_promises_are_kept_and_taken_back(workspace: ServedWorkspace) -> None:
    """Answered, refused or gone: a place is free again."""
    parts = workspace.parts(threads=1, waiting=4)
    with client_of(parts) as client:
        for _ in range(3):
            assert client.post("/v1/predict/features", json=features_body()).status_code == 200
            assert client.post("/v1/predict/features", json={}).status_code == 422
            with socket.create_connection(("127.0.0.1", client.base_url.port)) as gone:
                gone.sendall(WHOLE)
        with socket.create_connection(("127.0.0.1", client.base_url.port)) as whole:
            whole.sendall(WHOLE)
            assert b" 422 " in whole.recv(4096)
        wait_until(lambda: parts.pool._n_promised == parts.pool.n_inside == 0)
