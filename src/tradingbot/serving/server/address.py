"""The address of a server: taken before anything heavy is imported, so that a refusal is early."""

from __future__ import annotations

import errno
import socket

from tradingbot.domain.errors import ConfigError
from tradingbot.serving.server.settings import ServerSettings

BACKLOG = 256
"""Connections that may wait to be accepted."""


def bind(settings: ServerSettings) -> socket.socket:
    """Return the socket of a server, which listens already.

    Raises:
        ConfigError: If the address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By its protocol asyncio knows that it may send at once; else each answer waits for 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((settings.host, settings.port))
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError as e:
        made.close()
        raise ConfigError(
            "a server must have an address of its own",
            was=(e.strerror or "refused").lower(),
            where=f"{settings.host}:{settings.port}",
            remedy="Choose another --host: it must be an address of this machine"
            if e.errno == errno.EADDRNOTAVAIL
            else "Choose another --port, or stop what listens there",
        ) from e
    return made
