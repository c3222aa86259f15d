"""Who asks: the key of a request, its scopes, and those who tried too often with a wrong one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic

from fastapi import Request

from tradingbot.domain.errors import UserError
from tradingbot.serving.access.audit import AuditKind, AuditTrail
from tradingbot.serving.access.keys import ApiKey, KeyBook, Scope, identify, key_id_of
from tradingbot.serving.access.lockouts import Lockouts
from tradingbot.serving.server.metrics import ServerMetrics
from tradingbot.serving.server.problems import Problem
from tradingbot.serving.server.settings import ServerSettings

_log = logging.getLogger("tradingbot.serving")
_OPEN: frozenset[Scope] = frozenset({"read", "predict"})
"""What may be asked without a key, on loopback, where there is no key at all."""
_AUDIT_EVERY_S = 10.0
"""Refusals are counted, and written so often at most: they do not fill the disk."""
_CHALLENGE = {"www-authenticate": 'Bearer realm="tradingbot"'}


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    id: str
    """Of the key; `anonymous` without one."""
    scopes: frozenset[Scope]


class Authentication:
    """The keys of a workspace as a server knows them: read again when their file changes."""

    def __init__(
        self,
        workspace: Path,
        settings: ServerSettings,
        metrics: ServerMetrics,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._book, self.audit = KeyBook(workspace), AuditTrail(workspace)
        self._settings, self._metrics, self._clock = settings, metrics, clock
        self._lockouts = Lockouts()
        self._keys: tuple[ApiKey, ...] = ()
        self._seen: object = ()
        self._refusals: dict[AuditKind, tuple[int, float]] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="audit")

    def authenticate(self, request: Request) -> Caller:
        """Return who asks.

        Raises:
            Problem: 401 without a key that is taken, 429 where locked out, 503 where the keys
                cannot be read.
        """
        keys = self._read_keys()
        presented = _presented(request)
        if presented is None:
            if not keys and self._settings.profile == "local" and self._settings.is_loopback:
                return Caller("anonymous", _OPEN)
            raise self._unauthorised("none", request, "anonymous", "a key must be sent")
        address = "" if request.client is None else request.client.host
        claimed = key_id_of(presented)
        key, why = identify(keys, presented, self._clock())
        if key is None:
            # The right key is always taken: behind a proxy all clients share an address, and wrong
            # keys of a known id would keep the right one from a kill. 256 bits are not guessed.
            wait_s = self._lockouts.wait_s(address, claimed)
            if wait_s:
                self._metrics.refused.labels("locked").inc()
                headers = {"retry-after": str(int(wait_s) + 1)}
                raise Problem(429, "locked_out", "too many wrong keys", headers=headers)
            if self._lockouts.fail(address, claimed):
                self._write_down("locked out", claimed, address)
            raise self._unauthorised(why or "unknown", request, claimed, "the key is not taken")
        return Caller(key.id, frozenset(key.scopes))

    def require(self, caller: Caller, scope: Scope, request: Request) -> None:
        """Refuse a caller without a scope.

        Raises:
            Problem: 403; 401 without any key.
        """
        if scope in caller.scopes:
            return
        if caller.id == "anonymous":
            message = f"a key of scope {scope} must be sent"
            raise self._unauthorised("none", request, caller.id, message)
        self._metrics.refused.labels("scope").inc()
        self._write_down("access refused", caller.id, f"scope {scope} for {request.url.path}")
        raise Problem(403, "scope", f"the key must have the scope {scope}")

    def close(self) -> None:
        """Write what is to be written."""
        self._writer.shutdown(wait=True)

    def _read_keys(self) -> tuple[ApiKey, ...]:
        try:
            told = self._book.path.stat()
            seen: object = (told.st_ino, told.st_mtime_ns, told.st_size, told.st_mode)
        except OSError:
            seen = None
        if seen == self._seen:
            return self._keys
        try:
            keys = self._book.read()
        except UserError as e:
            _log.error("keys cannot be read: %s", e)
            raise Problem(503, "keys", "the keys of this server cannot be read") from e
        if seen is None and self._keys:  # keys that vanish do not open the door
            raise Problem(503, "keys", "the keys of this server cannot be read")
        self._keys, self._seen = keys, seen
        return keys

    def _unauthorised(self, why: str, request: Request, who: str, message: str) -> Problem:
        self._metrics.refused.labels(why).inc()
        self._write_down("access refused", who, f"{why} for {request.url.path}")
        return Problem(401, "unauthorised", message, headers=_CHALLENGE)

    def _write_down(self, kind: AuditKind, who: str, detail: str) -> None:
        """Audit a refusal; of many in a short time the first, and how many the others were."""
        now = monotonic()
        count, at = self._refusals.get(kind, (0, now - _AUDIT_EVERY_S))
        if now - at < _AUDIT_EVERY_S:
            self._refusals[kind] = (count + 1, at)
            return
        self._refusals[kind] = (0, now)
        told = f"{detail}; {count} more before" if count else detail
        self._writer.submit(self._record, kind, who, told)

    def _record(self, kind: AuditKind, who: str, detail: str) -> None:
        try:
            self.audit.record(kind, at=self._clock(), who=who, detail=detail)
        except UserError as e:
            _log.error("the audit trail cannot be written: %s", e)


def _presented(request: Request) -> str | None:
    """Return the key that a request carries in its headers; None where there is none."""
    found = request.headers.getlist("authorization")
    plain = request.headers.getlist("x-api-key")
    if len(found) + len(plain) > 1:
        raise Problem(400, "two_keys", "one key must be sent")
    if plain:
        return plain[0]
    if not found:
        return None
    kind, _, secret = found[0].partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""
