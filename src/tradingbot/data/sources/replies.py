"""Judging HTTP replies: an answer, a failure that may pass, or a refusal.

Knows HTTP but no vendor's data format; nothing here sends a request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

from tradingbot.data.sources.pacing import TransientFailure
from tradingbot.domain.errors import ConfigError, SourceError
from tradingbot.domain.redaction import redact

_LONGEST_MESSAGE = 160  # characters of a vendor's own words that reach an error line
_SECONDS_NOT_EPOCH = 1e8  # X-RateLimit-Reset above this is a time, not a wait
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


class Reply(Protocol):
    """What the two client libraries' response objects have in common."""

    @property
    def status_code(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> Mapping[str, Any]:
        """Response headers; look-up ignores case."""

    @property
    def text(self) -> str:
        """Body as text."""


@dataclass(frozen=True)
class Vendor:
    """A vendor's name, what its user can do about a refusal, and what must never be shown."""

    name: str
    refused_remedy: str
    """After HTTP 401 or 403."""
    request_remedy: str
    """After any other refusal of a request."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def quote(self, message: object) -> str:
        """Return a vendor's words on one line, short, without any secret in any encoding."""
        return redact(" ".join(str(message).split()), self.secrets)[:_LONGEST_MESSAGE]


def require_success(reply: Reply, vendor: Vendor, *, where: str, now: datetime) -> None:
    """Return if the status is 200.

    Raises:
        TransientFailure: For 408, 429 and 5xx, with the wait the vendor asked for.
        SourceError: For every other status.
    """
    status = reply.status_code
    if status == 200:
        return
    if status in (408, 429) or status >= 500:
        raise TransientFailure(f"HTTP {status}", retry_after_s=_asked_wait_s(reply.headers, now))
    message = _explanation(reply)
    was = f"HTTP {status}" + (f": {vendor.quote(message)}" if message else "")
    if status in (401, 403):
        raise SourceError(
            f"{vendor.name} must let us in", was=was, where=where, remedy=vendor.refused_remedy
        )
    raise SourceError(
        f"{vendor.name} must accept the request", was=was, where=where, remedy=vendor.request_remedy
    )


def read_json(reply: Reply) -> dict[str, Any]:
    """Return the JSON object in the body.

    Raises:
        TransientFailure: For an error page, a cut-off body, or JSON that is not an object.
    """
    text = reply.text
    try:
        body = json.loads(text)
    except ValueError as e:
        kind = "an HTML page" if text.lstrip()[:1] == "<" else "a body that is not JSON"
        raise TransientFailure(f"{kind} instead of data") from e
    if not isinstance(body, dict):
        raise TransientFailure("JSON that is not an object instead of data")
    return body


def nonsense(vendor: Vendor, what: str, *, where: str) -> SourceError:
    """Describe an answer that is well-formed but not the data that was asked for."""
    return SourceError(
        f"{vendor.name} must answer with the bars asked for",
        was=vendor.quote(what),
        where=where,
        remedy="Nothing of this answer was kept; update the vendor's package or report it",
    )


def require_base_url(url: str) -> str:
    """Return `url` without a trailing slash if requests may be sent there.

    Raises:
        ConfigError: If it is not https (plain http is allowed to this machine only).
    """
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS
    if not (parts.scheme == "https" or is_local) or not parts.hostname:
        rule = "vendor address must begin with https:// (http:// only for this machine)"
        raise ConfigError(rule, was=f"{parts.scheme}://{parts.hostname}")
    return url.rstrip("/")


def _asked_wait_s(headers: Mapping[str, Any], now: datetime) -> float | None:
    """Read Retry-After (seconds or a date), else X-RateLimit-Reset (epoch seconds)."""
    asked = headers.get("Retry-After")
    if asked is not None:
        return _seconds_until(str(asked), now)
    reset = _number(str(headers.get("X-RateLimit-Reset", "")))
    if reset is None or reset < _SECONDS_NOT_EPOCH:
        return None
    return max(0.0, reset - now.timestamp())


def _seconds_until(text: str, now: datetime) -> float | None:
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None


def _explanation(reply: Reply) -> str | None:
    """Find the vendor's own words in an error body, in any of the shapes the two use."""
    try:
        body = json.loads(reply.text)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    for key in ("chart", "finance"):
        if isinstance(body.get(key), dict):
            error = body[key].get("error")
            return str(error["description"]) if isinstance(error, dict) else None
    return str(body["message"]) if "message" in body else None
