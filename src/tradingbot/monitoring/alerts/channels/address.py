"""Addresses of channels: taken from the environment, and never shown whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import HIDDEN, redact

ENVIRONMENT = "env:"
_PARTS = re.compile(r"[/?&=@:#;,]+")
_SHORTEST = 5


@dataclass(frozen=True)
class SecretAddress:
    """An address whose path, user, password and query are secrets."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        """Return scheme and host alone, e.g. `https://hooks.example.com/***`."""
        parts = urlsplit(self.value)
        return f"{parts.scheme}://{parts.hostname or ''}/{HIDDEN}"

    @property
    def scheme(self) -> str:
        """E.g. `https`; all that is shown of an Apprise address, whose host may be a token."""
        return self.value.partition("://")[0]

    def hide_in(self, text: str) -> str:
        """Return a text without any part of the address but scheme and host."""
        parts = urlsplit(self.value)
        host, rest = parts.hostname or "", self.value.partition("://")[2]
        secrets = {each for each in _PARTS.split(rest) if len(each) >= _SHORTEST} - {host}
        secrets |= {unquote(each) for each in secrets}
        return redact(text.replace(self.value, str(self)), sorted(secrets, key=len, reverse=True))


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
