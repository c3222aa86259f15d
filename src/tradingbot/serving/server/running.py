"""A server as a process: a socket, uvicorn, and an end that drops nothing that was accepted."""

from __future__ import annotations

import asyncio
import math
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn

from tradingbot.serving.server.address import BACKLOG
from tradingbot.serving.server.application import build_server
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.protocol import protocol_of

_LOOK_S = 0.05
"""Seconds between two looks at what is still under way."""
_SWITCH_S = 0.0005
"""Seconds after which a thread lets the others go on: the loop must shed while threads predict."""


class DrainingServer(uvicorn.Server):
    """uvicorn's server; told to end, it answers what is under way before it closes its doors.

    Until then `/ready` says that it is ending, and new requests are refused.
    """

    def __init__(self, config: uvicorn.Config, parts: ServerParts) -> None:
        super().__init__(config)
        self._parts = parts

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        self._parts.is_draining = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for requests that were accepted, as long as they may take; then close."""
        self._parts.is_draining = True
        now = asyncio.get_running_loop().time
        end = now() + self._parts.settings.drain_s
        while self._parts.n_under_way and now() < end and not self.force_exit:
            await asyncio.sleep(_LOOK_S)
        self.config.timeout_graceful_shutdown = max(0, math.ceil(end - now()))
        await super().shutdown(sockets)


def make_server(parts: ServerParts) -> DrainingServer:
    """Return the server of an application; `run_server` runs it."""
    settings = parts.settings
    config = uvicorn.Config(
        build_server(parts),
        http=protocol_of(parts),
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.drain_s,
        backlog=BACKLOG,
    )
    return DrainingServer(config, parts)


def run_server(
    parts: ServerParts, *, told: Callable[[str], None] = lambda _: None, on: socket.socket
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that were accepted are answered first.

    Args:
        parts: Of the server.
        told: Is given the address when it listens.
        on: A socket of `address.bind`.
    """
    host, port = on.getsockname()[:2]
    told(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        asyncio.run(make_server(parts).serve(sockets=[on]))
    except KeyboardInterrupt:
        pass  # uvicorn raises the signal again after it drained
    finally:
        sys.setswitchinterval(before)
        on.close()
