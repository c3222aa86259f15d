"""Connections that do not wait for slow clients: heads of requests have a time, too."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tradingbot.serving.server.settings import ServerSettings

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class TimedProtocol(H11Protocol):
    """uvicorn's connection, closed where a request's head does not arrive in time."""

    settings: ClassVar[ServerSettings]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; one connection too many is told to come back, and closed."""
        super().connection_made(transport)
        if len(self.connections) > self.settings.max_connections:
            transport.write(_FULL)
            transport.close()
            return
        self._start()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that is not whole yet runs against the clock."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None and self.timeout_keep_alive_task is None:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.settings.body_timeout_s, self._close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def protocol_of(settings: ServerSettings) -> type[TimedProtocol]:
    """Return the protocol of a server's connections."""
    return type("ServerProtocol", (TimedProtocol,), {"settings": settings})
