"""Before all else: who asks under another name is refused, and no page may frame the dashboard.

An ASGI layer around the whole of Streamlit: pages, files, uploads and the websocket alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tradingbot.monitoring.dashboard.served_hosts import ServedHosts

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
CLOSED_BY_POLICY = 1008
HEADERS = (
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)
"""A page of others can neither show ours in a frame nor run a file as what it is not."""
_REFUSED = (
    "host must be one that this dashboard serves. Open the address that it said when it began, or "
    "start it with --allow-host NAME[:PORT], e.g. of a reverse proxy.\n"
)


class HostGuard:
    """Lets requests pass to an application that are for it.

    Args:
        app: ASGI application.
        served: Hosts that it has.
    """

    def __init__(self, app: Application, served: ServedHosts) -> None:
        self._app, self._served = app, served

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or hold one connection."""
        if scope["type"] == "lifespan" or self._is_served(scope):
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":  # closed before it is accepted: the answer is 403
            await send({"type": "websocket.close", "code": CLOSED_BY_POLICY})
        else:
            await _refuse(_with_headers(send))

    def _is_served(self, scope: Message) -> bool:
        hosts, place = _values(scope, b"host"), scope.get("server")
        if not self._served.has(hosts, place[0] if place else None):
            return False
        # Streamlit takes every port of this machine for its own page, and asks a server of the
        # internet for the machine's address before it refuses others.
        is_own = all(each.partition("://")[2] == hosts[0] for each in _values(scope, b"origin"))
        return is_own or scope["type"] != "websocket"


def _values(scope: Message, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in HEADERS}
            # Policies add up: one of Streamlit's own stays beside ours.
            own.remove(b"content-security-policy")
            kept = [each for each in message.get("headers", ()) if each[0].lower() not in own]
            message = {**message, "headers": [*kept, *HEADERS]}
        await send(message)

    return send_with_headers


async def _refuse(send: Send) -> None:
    body = _REFUSED.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
