"""What a server is held to: address, profile, limits of requests, times."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import ConfigError

Profile = Literal["local", "production"]


@dataclass(frozen=True)
class ServerSettings(CheckedFields):
    """Settings of one server."""

    host: str = "127.0.0.1"
    """Address that it listens on; another than loopback needs keys."""
    port: int = bounded(8000, "[0, 65535]")
    """0: any that is free."""
    profile: Profile = "local"
    """Local: documentation and metrics are open, and without any key so is the rest, on loopback.
    Production: everything but `/live` and `/ready` needs a key."""
    threads: int = bounded(1, "[1, 64]")
    """Predictions that are computed at the same time."""
    waiting: int = bounded(1, "[0, 1024]")
    """Predictions that may wait for a thread; what comes beyond is shed at once."""
    rate_per_s: float = bounded(100.0, "(0, inf)")
    """Requests a second that a key may make for long."""
    burst: int = bounded(200, ">= 1")
    """Requests that a key may make at once."""
    max_body_bytes: int = bounded(1_048_576, ">= 1")
    max_depth: int = bounded(8, ">= 1")
    """Brackets within brackets of a JSON body."""
    max_rows: int = bounded(20_000, ">= 1")
    """Bars of all symbols together in one request."""
    max_connections: int = bounded(512, ">= 1")
    """Open connections; more are closed at once."""
    body_timeout_s: float = bounded(5.0, "(0, inf)")
    """Seconds for a request's headers, and again for its body."""
    keep_alive_s: int = bounded(30, ">= 1")
    """Seconds that a connection may be idle."""
    drain_s: int = bounded(20, ">= 1")
    """Seconds that requests under way are given when the server ends."""
    max_bar_age_s: float = bounded(5400.0, "(0, inf)")
    """Age of the newest bar beyond which its signals are not given any more."""
    follow_s: float = bounded(1.0, "(0, inf)")
    """Seconds between two looks at the registry."""
    history_bars: int = bounded(512, ">= 1")
    """Bars that the stream keeps, for a model that is swapped in to begin with."""
    time_zone: str = "America/New_York"
    """IANA name of the exchange's zone: fixes the day of the week of bars."""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            ip_address(self.host)
        except ValueError as e:
            rule, remedy = "host must be an IP address", "Write e.g. 127.0.0.1"
            raise ConfigError(rule, was=repr(self.host[:80]), remedy=remedy) from e
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as e:
            rule, remedy = "time_zone must be an IANA name", "Write e.g. America/New_York"
            raise ConfigError(rule, was=repr(self.time_zone[:80]), remedy=remedy) from e

    @property
    def is_loopback(self) -> bool:
        """Whether this machine alone can reach it."""
        return ip_address(self.host).is_loopback


def require_keys(settings: ServerSettings, n_alive: int) -> None:
    """Refuse to serve others, or production, without a single key.

    Raises:
        ConfigError: Saying how to make one.
    """
    if n_alive or (settings.is_loopback and settings.profile == "local"):
        return
    where = f"{settings.host}, profile {settings.profile}"
    raise ConfigError(
        "a server beyond loopback or in production must have an API key",
        was="none",
        where=where,
        remedy="Make one: tradingbot keys create NAME --scope predict",
    )
