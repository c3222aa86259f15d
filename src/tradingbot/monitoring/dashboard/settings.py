"""What a dashboard is held to: address, workspace, journal, pace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import as_plain_values, read_record
from tradingbot.monitoring.dashboard.served_hosts import LOOPBACK, read_host


@dataclass(frozen=True)
class DashboardSettings(CheckedFields):
    """Settings of one dashboard."""

    workspace: str = "workspace"
    """Folder of sessions, runs, registry and ledger."""
    host: str = "127.0.0.1"
    """Address that it listens on; another than loopback asks every reader for a key."""
    port: int = bounded(8501, "[0, 65535]")
    """0: any that is free."""
    journal: str | None = None
    """Journal beside those of the workspace: a path, or postgresql://USER@HOST/DATABASE."""
    refresh_s: float = bounded(0.4, "[0.1, 60]")
    """Seconds between two looks at what may have changed."""
    allow_hosts: tuple[str, ...] = ()
    """Names that it answers under beside its own, NAME[:PORT], e.g. of a reverse proxy; one of
    elsewhere asks every reader for a key."""
    options: str = ""
    """What commands that a page names need before the noun, e.g. `--workspace w`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            ip_address(self.host)
        except ValueError as e:
            rule, remedy = "host must be an IP address", "Write e.g. 127.0.0.1"
            raise ConfigError(rule, was=repr(self.host[:80]), remedy=remedy) from e
        for each in self.allow_hosts:
            read_host(each)

    @property
    def is_loopback(self) -> bool:
        """Whether this machine alone is to reach it: it is under no name of elsewhere either."""
        names = {read_host(each)[0] for each in self.allow_hosts}
        return ip_address(self.host).is_loopback and names <= set(LOOPBACK)

    @property
    def folder(self) -> Path:
        """The workspace."""
        return Path(self.workspace)

    def as_text(self) -> str:
        """Return the settings as one argument of the page's script."""
        return json.dumps(as_plain_values(self))


def read_settings(text: str) -> DashboardSettings:
    """Return what `as_text` wrote."""
    return read_record(DashboardSettings, json.loads(text), name="dashboard")
