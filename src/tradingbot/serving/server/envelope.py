"""What surrounds every request: its address, its headers, what is measured and logged of it."""

from __future__ import annotations

import logging
import traceback
from ipaddress import ip_address
from time import perf_counter
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradingbot.domain.redaction import hide_keys, is_secret_name
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.problems import Problem

_log = logging.getLogger("tradingbot.serving")
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_WHILE_DRAINING = frozenset({"/live", "/ready", "/metrics"})
_LOCAL_NAMES = frozenset({"localhost", "testserver"})


class Envelope:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, parts: ServerParts) -> None:
        self._app, self._parts = app, parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status, is_begun = perf_counter(), 500, False
        counted = int(not self._parts.is_draining)
        self._parts.n_under_way += counted
        state: dict[str, Any] = scope.setdefault("state", {})

        async def answer(message: Message) -> None:
            nonlocal status, is_begun
            if message["type"] == "http.response.start":
                status, is_begun = message["status"], True
                told = state.get("headers", {})
                names = {name for name, _ in message["headers"]}
                more = [(key.encode(), value.encode()) for key, value in told.items()]
                message["headers"] += [each for each in (*more, *_ALWAYS) if each[0] not in names]
            await send(message)

        problem = self._refuse(scope)
        try:
            if problem is not None:
                await problem.response()(scope, receive, answer)
            else:
                await self._app(scope, receive, answer)
        except Exception as e:
            # Its text may hold what a client sent; its kind and place do not.
            place = traceback.extract_tb(e.__traceback__)[-1]
            _log.error("a bug: %s in %s:%s", type(e).__name__, place.name, place.lineno)
            if is_begun:
                raise
            bug = Problem(500, "bug", "this is a bug of the server; its log says more")
            await bug.response()(scope, receive, answer)
        finally:
            self._parts.n_under_way -= counted
            self._tell(scope, status, perf_counter() - begin)

    def _refuse(self, scope: Scope) -> Problem | None:
        headers = [value for name, value in scope["headers"] if name == b"host"]
        if self._parts.settings.is_loopback and not _is_local(headers):
            # A page of another origin whose name was pointed at this machine.
            return Problem(421, "host", "this server answers to its own address alone")
        query = scope["query_string"].decode("latin-1")
        if any(is_secret_name(name) for name, _ in parse_qsl(query, keep_blank_values=True)):
            return Problem(400, "secret_in_address", "keys are sent in headers, not in addresses")
        if self._parts.is_draining and scope["path"] not in _WHILE_DRAINING:
            told = {"retry-after": "1", "connection": "close"}
            return Problem(503, "draining", "the server is ending; ask again", headers=told)
        return None

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._parts.metrics.requests.labels(route, str(status)).inc()
        if status >= 400:
            path = hide_keys(ascii(scope["path"][:200]))
            _log.info("%s %s %d %.1f ms", scope["method"], path, status, seconds * 1e3)


def _is_local(headers: list[bytes]) -> bool:
    if len(headers) != 1:
        return False
    host = headers[0].decode("latin-1")
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    if name.lower() in _LOCAL_NAMES:
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
