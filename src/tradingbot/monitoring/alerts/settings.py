"""Settings of alerts: the product's own rules, and a user's file that extends or replaces them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tradingbot.configuration.decoding import decode
from tradingbot.configuration.files import preset_folder, read_merged
from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds
from tradingbot.domain.errors import require_known
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.rule import AlertRule
from tradingbot.monitoring.alerts.storm import StormLimits

DEFAULT_RULES = "default"
"""Preset of the package."""
USER_FILE = "alerts.yaml"
"""File of a workspace that is read where none is named."""
ChannelKind = Literal["console", "file", "webhook", "email", "apprise"]


@dataclass(frozen=True)
class ChannelSettings:
    """One way to tell someone."""

    kind: ChannelKind
    """How it is told."""
    address: str = ""
    """Of a webhook, a mail server (`smtp://HOST:PORT`, `smtps://`) or an Apprise service; a path of
    a file. `env:NAME` takes it from a variable: an address with a secret in it belongs there."""
    sender: str = ""
    """Of e-mail."""
    recipients: tuple[str, ...] = ()
    """Of e-mail."""
    lowest: AlertLevel = AlertLevel.INFO
    """Severity from which on this channel is used."""
    fallback: str = ""
    """Channel that is used where this one fails; the next one of the file where none is named."""
    allow_private: bool = False
    """Whether the address may lie in the machine's own network: loopback, private, link-local."""
    timeout_s: float = bounded(2.0, "(0, 60]")
    """Longest wait for one attempt."""
    attempts: int = bounded(2, "[1, 5]")
    """Before another channel is used."""

    def __post_init__(self) -> None:
        """Refuse what cannot be sent to."""
        require_kinds(self)
        needs = self.kind != "console"
        require(bool(self.address) or not needs, "address must be given for this kind", self)
        if self.kind == "email":
            rule = "recipients of e-mail must be given, and a sender"
            require(bool(self.recipients) and bool(self.sender), rule, self)
        if self.kind == "file":
            rule = "address of a file must stay in the workspace, or be a whole path"
            remedy = "Leave out what leads upward, or write e.g. /var/log/alerts.jsonl"
            require(read_file_place(self.address) is not None, rule, self, remedy=remedy)
        has_secret = "@" in self.address.partition("://")[2].partition("/")[0]
        rule = "address must hold no password in a file"
        require(not has_secret, rule, _Hidden(), remedy="Write address: env:NAME")


def read_file_place(address: str) -> Path | None:
    """Return the path of a file: whole, or below the workspace; None where it is neither.

    Example:
        >>> read_file_place("alerts/../x.jsonl"), read_file_place("../x.jsonl")
        (PosixPath('x.jsonl'), None)
    """
    try:
        path = Path(address).expanduser()
    except RuntimeError:  # of a user that this machine does not have
        return None
    if path.is_absolute():
        return path
    # As it is written, not as links lead: what follows `..` is then where it seems to be.
    place = Path(os.path.normpath(path))
    return None if place.parts[:1] == ("..",) or not place.parts else place


class _Hidden:
    """Stands for settings whose address must not be shown."""

    address = "one with a password"


@dataclass(frozen=True)
class AlertSettings(CheckedFields):
    """What is watched, by which rules, and who is told."""

    rules: dict[str, AlertRule] = field(default_factory=dict)
    """Name → rule."""
    channels: dict[str, ChannelSettings] = field(default_factory=dict)
    """Name → channel, in the order in which they stand in for each other."""
    storm: StormLimits = field(default_factory=StormLimits)
    interval_s: float = bounded(1.0, "[0.05, 60]")
    """Seconds between two looks at everything."""
    servers: tuple[str, ...] = ()
    """Addresses of inference servers whose metrics are read, e.g. `http://127.0.0.1:8000`."""

    def __post_init__(self) -> None:
        """Refuse channels that are named and are none."""
        super().__post_init__()
        named: dict[str, tuple[str, ...]] = {
            f"channels.{name}.fallback": (each.fallback,)
            for name, each in self.channels.items()
            if each.fallback
        }
        for name, rule in self.rules.items():
            named[f"rules.{name}.channels"] = rule.channels
            steps = (one for step in rule.escalation for one in step.channels)
            named[f"rules.{name}.escalation"] = tuple(steps)
        for place, names in named.items():
            for name in names:
                require_known(name, self.channels, f"{place} must name known channels")


def load_settings(reference: str | Path | None = None, *, workspace: Path) -> AlertSettings:
    """Read rules and channels.

    Args:
        reference: A preset or a `.yaml` file; None: `alerts.yaml` of the workspace, or the
            product's own where there is none. A file says `extends: default` to keep those.
        workspace: Where `alerts.yaml` is looked for.

    Raises:
        ConfigError: Naming file and line of what is unknown, missing or wrong.
    """
    own = workspace / USER_FILE
    chosen = reference or (own if own.is_file() else DEFAULT_RULES)
    document, files = read_merged(chosen, preset_folder("alerts"))
    return decode(AlertSettings, document, name="alerts", where=str(files[0]))
