"""Requests that arrive at fixed times, whether or not earlier ones were answered.

A client that waits for each answer before it asks again asks less when the server is slow, and
measures it as fast. One thread on plain sockets: a client must cost less than what it measures.
"""

from __future__ import annotations

import selectors
import socket
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Self

from tradingbot.domain.errors import DataError

_CONNECTIONS = 128
_SHORTEST_WAIT_S = 0.0002


@dataclass
class LoadAnswers:
    """What became of the requests of one load."""

    statuses: Counter[int] = field(default_factory=Counter)
    accepted_s: list[float] = field(default_factory=list)
    """Seconds from sending to answer of those that were answered with 200."""
    shed_s: list[float] = field(default_factory=list)
    n_with_retry: int = 0
    """Shed ones that were told when to come back."""
    late_s: list[float] = field(default_factory=list)
    """How much later than planned each was sent."""


def request_bytes(path: str, body: bytes, key: str) -> bytes:
    """Return a request as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection:
    """One kept-alive connection on loopback; one request at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, request: bytes) -> None:
        """Send a request."""
        self._read, self.sent_at = b"", perf_counter()
        self.socket.sendall(request)

    def receive(self) -> tuple[int, bytes, bytes] | None:
        """Take what has arrived; return status, head in small letters and body when whole.

        Raises:
            DataError: If the server closed the connection.
        """
        part = self.socket.recv(262_144)
        if not part:
            raise DataError("a server must answer what it accepted", was="a closed connection")
        self._read += part
        end = self._read.find(b"\r\n\r\n")
        if end < 0:
            return None
        head, body = self._read[: end + 2].lower(), self._read[end + 4 :]
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return (int(head[9:12]), head, body) if len(body) == length else None

    def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        """Send a request and wait for its answer."""
        self.send(request)
        while (answer := self.receive()) is None:
            pass
        return answer


def offer(port: int, request: bytes, *, rate_per_s: float, seconds: float) -> LoadAnswers:
    """Send a request again and again, at fixed times."""
    answers, total = LoadAnswers(), int(rate_per_s * seconds)
    with selectors.DefaultSelector() as waiting, ExitStack() as opened:
        idle = [opened.enter_context(Connection(port)) for _ in range(_CONNECTIONS)]
        for connection in idle:
            waiting.register(connection.socket, selectors.EVENT_READ, connection)
        n_sent, begin = 0, perf_counter()
        while sum(answers.statuses.values()) < total:
            due = begin + n_sent / rate_per_s
            while n_sent < total and idle and due <= perf_counter():
                idle[-1].send(request)
                answers.late_s.append(idle.pop().sent_at - due)
                n_sent += 1
                due = begin + n_sent / rate_per_s
            pause = max(due - perf_counter(), _SHORTEST_WAIT_S) if n_sent < total else 1.0
            for event, _ in waiting.select(pause):
                answer = event.data.receive()
                if answer is not None:
                    _note(answers, perf_counter() - event.data.sent_at, answer)
                    idle.append(event.data)
    return answers


def _note(answers: LoadAnswers, took: float, answer: tuple[int, bytes, bytes]) -> None:
    status, head, _ = answer
    answers.statuses[status] += 1
    if status == 200:
        answers.accepted_s.append(took)
    else:
        answers.shed_s.append(took)
        answers.n_with_retry += b"\r\nretry-after: " in head
