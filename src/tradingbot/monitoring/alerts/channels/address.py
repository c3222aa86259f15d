"""Addresses of channels: taken from the environment, and never shown whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import HIDDEN, redact

ENVIRONMENT = "env:"
_PARTS = re.compile(r"[/?&=@:#;,]+")
_SHORTEST = 5
_PLACE_REMEDY = "Write scheme://HOST:PORT/…, an IPv6 address in brackets"


@dataclass(frozen=True)
class SecretAddress:
    """An address whose path, user, password and query are secrets."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        """Return scheme and host alone, e.g. `https://hooks.example.com/***`."""
        return f"{self.scheme}://{_host_of(self.value)}/{HIDDEN}"

    @property
    def scheme(self) -> str:
        """E.g. `https`; all that is shown of an Apprise address, whose host may be a token."""
        return self.value.partition("://")[0]

    def hide_in(self, text: str) -> str:
        """Return a text without any part of the address but scheme and host."""
        host, rest = _host_of(self.value), self.value.partition("://")[2]
        secrets = {each for each in _PARTS.split(rest) if len(each) >= _SHORTEST} - {host}
        secrets |= {unquote(each) for each in secrets}
        return redact(text.replace(self.value, str(self)), sorted(secrets, key=len, reverse=True))


class ServerPlace(NamedTuple):
    """Where a server is."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""


def read_place(address: str, ports: Mapping[str, int], rule: str, *, where: str) -> ServerPlace:
    """Return where an address leads.

    Args:
        address: Without user and password.
        ports: Scheme → the port where none is written.
        rule: What it must be.
        where: Name of the channel in its file.

    Raises:
        ConfigError: If it is no such address; of it the scheme alone is shown.
    """
    scheme = address.partition("://")[0] if "://" in address else ""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as e:  # brackets that are not closed, a port that is no number or too large
        rule = "address of a channel must have a host and a port from 1 to 65535"
        raise ConfigError(rule, was=_told(scheme), where=where, remedy=_PLACE_REMEDY) from e
    if parts.scheme not in ports or not host or port == 0:
        raise ConfigError(rule, was=_told(scheme), where=where, remedy=_PLACE_REMEDY)
    target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    return ServerPlace(parts.scheme, host, port or ports[parts.scheme], target)


def _told(scheme: str) -> str:
    return f"{scheme}://{HIDDEN}" if scheme else "nothing"


def _host_of(address: str) -> str:
    """Return the host of an address; nothing where it is none: what stands there may be secret."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def resolve_address(written: str, environment: Mapping[str, str], *, where: str) -> SecretAddress:
    """Return the address that was written, or that its variable holds.

    Raises:
        ConfigError: If the variable is not set or empty.
    """
    if not written.startswith(ENVIRONMENT):
        return SecretAddress(written)
    name = written.removeprefix(ENVIRONMENT)
    value = environment.get(name, "").strip()
    if not value:
        rule = f"variable {name} must hold the address of a channel"
        was = "empty" if name in environment else "not set"
        raise ConfigError(rule, was=was, where=where, remedy=f"Set it: export {name}=…")
    return SecretAddress(value)
