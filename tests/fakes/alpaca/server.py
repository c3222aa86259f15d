"""The fake venue on a loopback port: REST and the stream of trade updates on one socket.

One asyncio loop owns the venue; a request is parsed, judged and answered without a thread switch.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from websockets.frames import Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from fakes.alpaca.admin import UNKNOWN_STATUS, Admin
from fakes.alpaca.faults import Fault, FaultPlan
from fakes.alpaca.refusals import Refusal, revoked, too_many, unauthorised
from fakes.alpaca.routes import Routes
from fakes.alpaca.venue import Venue

_QUIET = logging.Logger("fakes.alpaca", level=logging.CRITICAL)  # frames hold the key pair
_REASONS = {200: "OK", 204: "No Content", 207: "Multi-Status", 429: "Too Many Requests"}
_JSON, _HTML = "application/json; charset=UTF-8", "text/html"


class Desk:
    """What all connections share: the venue, its keys, its faults, and who listens."""

    def __init__(self, venue: Venue, plan: FaultPlan, keys: dict[str, str]) -> None:
        self.venue, self.plan, self.keys = venue, plan, keys
        self.routes, self.admin = Routes(venue, plan), Admin(venue, plan)
        self.streams: set[StreamSession] = set()
        self.connections: set[asyncio.Transport] = set()
        self.requests: dict[str, int] = {}
        """Operation → how many requests came in."""
        self.refused_streams = 0
        self._recent: deque[float] = deque()
        self._held: dict[str, Any] | None = None
        venue.listeners.append(self.tell)

    def require_key(self, headers: dict[str, str]) -> None:
        key, secret = headers.get("apca-api-key-id"), headers.get("apca-api-secret-key")
        if key is None or self.keys.get(key) != secret:
            raise unauthorised()
        if self.plan.is_revoked:
            raise revoked()

    def require_rate(self) -> None:
        """Count a request in the window of the venue's own time."""
        now, limit = self.venue.clock.now().timestamp(), self.plan.requests_per_minute
        if limit is None:
            return
        while self._recent and self._recent[0] <= now - self.plan.rate_window_s:
            self._recent.popleft()
        if len(self._recent) >= limit:
            raise too_many()
        self._recent.append(now)

    def tell(self, write: Callable[[], dict[str, Any]]) -> None:
        """Send an event to all who listen, with the faults of the stream."""
        if not any(each.listens for each in self.streams):
            return
        message = write()
        what = self.plan.draw_event()
        if what == "lost":
            return
        if what == "swapped" and self._held is None:
            self._held = message
            return
        held, self._held = self._held, None
        sent = [message] * (2 if what == "doubled" else 1) + ([held] if held is not None else [])
        for each in sent:
            for stream in tuple(self.streams):
                stream.tell(each)

    def release_held(self) -> None:
        """Send an event that still waits for the next one."""
        held, self._held = self._held, None
        for stream in tuple(self.streams) if held is not None else ():
            stream.tell(held)


class Connection(asyncio.Protocol):
    """One TCP connection: HTTP/1.1 requests one after another, or a stream."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._buffer = desk, bytearray()
        self._transport: asyncio.Transport | None = None
        self._stream: StreamSession | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._desk.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._transport is not None
        self._desk.connections.discard(self._transport)
        if self._stream is not None:
            self._desk.streams.discard(self._stream)

    def data_received(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.receive(data)
            return
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
            headers = {
                name.strip().lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head[1:])
            }
            if headers.get("upgrade", "").lower() == "websocket":
                self._upgrade()
                return
            length = int(headers.get("content-length", "0"))
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            method, target, _ = head[0].split(" ", 2)
            self._take(method, target, headers, body)

    def _upgrade(self) -> None:
        assert self._transport is not None
        if self._desk.plan.refuses_streams:
            self._desk.refused_streams += 1
            self._transport.abort()
            return
        self._stream = StreamSession(self._desk, self._transport)
        self._desk.streams.add(self._stream)
        self._stream.receive(bytes(self._buffer))

    def _take(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(target)
        path = unquote(parts.path)
        if path.startswith("/admin/"):
            self._send(*self._administer(path, body))
            return
        delay = self._desk.plan.latency_s
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if delay > 0:
            self._loop.call_later(delay, self._serve, method, path, query, headers, body)
        else:
            self._serve(method, path, query, headers, body)

    def _administer(self, path: str, body: bytes) -> tuple[int, Any]:
        admin = self._desk.admin
        if path == "/admin/state":
            return 200, {**admin.state(), "requests": self._desk.requests}
        if path == "/admin/drop_streams":
            for stream in tuple(self._desk.streams):
                stream.drop()
            return 200, {}
        try:
            done = admin.do(json.loads(body))
        except (ValueError, KeyError, TypeError, Refusal) as e:
            return 400, {"message": str(e)}
        self._desk.release_held()
        return 200, done

    def _serve(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
    ) -> None:
        desk = self._desk
        try:
            operation, handle = desk.routes.find(method, path)
            desk.requests[operation] = desk.requests.get(operation, 0) + 1
            desk.require_key(headers)
            desk.require_rate()
        except Refusal as refusal:
            self._send(refusal.status, refusal.body)
            return
        fault = desk.plan.draw(operation)

        def act() -> tuple[int, Any]:
            try:
                asked = json.loads(body, parse_float=Decimal) if body else None
                return handle(query, asked)
            except Refusal as refusal:
                return refusal.status, refusal.body
            except (ValueError, KeyError, TypeError) as e:
                return 422, {"code": 40010001, "message": f"invalid request: {e}"}
            finally:
                desk.venue.log.flush()

        if fault is None:
            self._send(*act())
        else:
            self._fail(fault, act)

    def _fail(self, fault: Fault, act: Any) -> None:
        assert self._transport is not None
        if fault.answer == "late":
            self._loop.call_later(self._desk.plan.late_s, act)
            return
        status, answer = act() if fault.acts else (200, None)
        if fault.answer == "drop":
            self._transport.abort()
        elif fault.answer in ("html", "status"):
            self._write(fault.status, fault.body, _HTML if fault.answer == "html" else _JSON)
        elif fault.answer == "cut":
            self._write(status, _half(json.dumps(answer).encode()), _JSON)
        elif fault.answer == "empty":
            self._write(status, b"", _JSON)
        elif fault.answer == "unknown":
            if isinstance(answer, dict) and "status" in answer:
                answer = {**answer, "status": UNKNOWN_STATUS, "new_field": {"a": [1]}}
            self._send(status, answer)

    def _send(self, status: int, answer: Any) -> None:
        self._write(status, b"" if answer is None else json.dumps(answer).encode(), _JSON)

    def _write(self, status: int, body: bytes, kind: str) -> None:
        assert self._transport is not None
        wait = "Retry-After: 1\r\n" if status == 429 else ""
        head = (
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\nContent-Type: {kind}\r\n"
            f"{wait}Content-Length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode("latin-1") + body)


class StreamSession:
    """The WebSocket of one client: authenticate, listen, then binary frames of events."""

    def __init__(self, desk: Desk, transport: asyncio.Transport) -> None:
        self._desk, self._transport = desk, transport
        self._protocol = ServerProtocol(logger=_QUIET)
        self._is_authorised = False
        self.listens = False

    def receive(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._protocol.send_response(self._protocol.accept(event))
            elif event.opcode in (Opcode.TEXT, Opcode.BINARY):
                self._answer(json.loads(event.data))
        self._flush()

    def _answer(self, message: dict[str, Any]) -> None:
        data = message.get("data") or {}
        if message.get("action") == "authenticate":
            key, secret = data.get("key_id"), data.get("secret_key")
            known = self._desk.keys.get(str(key)) == secret and not self._desk.plan.is_revoked
            self._is_authorised = known
            status = "authorized" if known else "unauthorized"
            if not known:
                self._desk.refused_streams += 1
            answer = {"status": status, "action": "authenticate"}
            self._write({"stream": "authorization", "data": answer})
        elif message.get("action") == "listen" and self._is_authorised:
            wanted = [each for each in data.get("streams", []) if each == "trade_updates"]
            self.listens = bool(wanted)
            self._write({"stream": "listening", "data": {"streams": wanted}})

    def tell(self, message: dict[str, Any]) -> None:
        if self.listens:
            self._write(message)
            self._flush()

    def _write(self, message: dict[str, Any]) -> None:
        self._protocol.send_binary(json.dumps(message).encode())

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:
                self._transport.close()

    def drop(self) -> None:
        self._transport.abort()


def _half(body: bytes) -> bytes:
    return body[: len(body) // 2]
