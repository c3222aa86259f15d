"""Connections that wait for no slow client, and shed at next to no cost where all is busy."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tradingbot.serving.server.admission import BUSY
from tradingbot.serving.server.parts import ServerParts

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_SHED_BODY = BUSY.response().body
_SHED = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncache-control: no-store\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
) % (len(_SHED_BODY), bytes(_SHED_BODY))
_PREDICTS = b"POST /v1/predict/"
_LENGTH, _LONGEST_HEAD = b"\r\ncontent-length:", 8192


class TimedProtocol(H11Protocol):
    """uvicorn's connection, closed where a request's head does not arrive in time."""

    parts: ClassVar[ServerParts]
    _timer: asyncio.TimerHandle | None = None
    _has_place = False
    """Whether its request was promised a place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; one connection too many is told to come back, and closed."""
        super().connection_made(transport)
        if len(self.connections) > self.parts.settings.max_connections:
            transport.write(_FULL)
            transport.close()
            return
        self._start()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that is not whole yet runs against the clock."""
        if self._is_idle and is_whole_prediction(data):
            if not self.parts.pool.reserve():
                self._shed()
                return
            self._has_place = True
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None and self.timeout_keep_alive_task is None:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop()
        self._release()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Let the next request come, here and elsewhere."""
        self._release()
        super().on_response_complete()

    @property
    def _is_idle(self) -> bool:
        """Whether nothing of a request has arrived, and no answer is under way."""
        conn = self.conn
        return conn.their_state is h11.IDLE and not conn.trailing_data[0]

    def _shed(self) -> None:
        """Answer without parsing: the loop has better to do where every thread is busy."""
        self._stop()
        self.transport.write(_SHED)
        self.parts.metrics.shed.labels("busy").inc()
        self.parts.metrics.requests.labels("/v1/predict", "503").inc()
        self.on_response_complete()

    def _release(self) -> None:
        if self._has_place:
            self._has_place = False
            self.parts.pool.release()

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.parts.settings.body_timeout_s, self._close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def is_whole_prediction(data: bytes) -> bool:
    """Tell whether bytes are one request for a prediction, from its first byte to its last.

    Anything less plain (in parts, more than one, another length than it says, a body without one)
    is none, and is parsed as usual: what is dropped here is never half of something.
    """
    if not data.startswith(_PREDICTS):
        return False
    end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
    head = data[: end + 2].lower()
    if end < 0 or b"\r\ntransfer-encoding" in head or b"\r\nexpect" in head:
        return False
    _, found, rest = head.partition(_LENGTH)
    length = rest.partition(b"\r\n")[0].strip()
    if not found or _LENGTH in rest or not length.isdigit():
        return False
    return len(data) == end + 4 + int(length[:12])


def protocol_of(parts: ServerParts) -> type[TimedProtocol]:
    """Return the protocol of a server's connections."""
    return type("ServerProtocol", (TimedProtocol,), {"parts": parts})
