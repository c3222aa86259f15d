"""Channels from their settings: every kind by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tradingbot.monitoring.alerts.channels.address import resolve_address
from tradingbot.monitoring.alerts.channels.channel import AlertChannel, NetworkTerms
from tradingbot.monitoring.alerts.channels.console import ConsoleChannel, FileChannel
from tradingbot.monitoring.alerts.settings import (
    AlertSettings,
    ChannelSettings,
    read_file_place,
)


@dataclass(frozen=True)
class ChannelSurroundings:
    """What channels need beside their settings."""

    workspace: Path
    """Relative paths of files are below it."""
    environment: Mapping[str, str]
    write: Callable[[str], None]
    """Takes the lines of the console."""


def open_channels(
    settings: AlertSettings, surroundings: ChannelSurroundings
) -> dict[str, AlertChannel]:
    """Open every channel of the settings.

    Raises:
        ConfigError: If an address is none, is not set, or lies in the own network and may not.
        MissingExtraError: If a package is missing.
    """
    return {
        name: _open(f"channels.{name}", each, surroundings)
        for name, each in settings.channels.items()
    }


def _open(where: str, settings: ChannelSettings, around: ChannelSurroundings) -> AlertChannel:
    if settings.kind == "console":
        return ConsoleChannel(around.write)
    if settings.kind == "file":
        place = read_file_place(settings.address)
        assert place is not None  # or the settings were refused
        return FileChannel(around.workspace / place)
    address = resolve_address(settings.address, around.environment, where=where)
    terms = NetworkTerms(settings.timeout_s, settings.allow_private, where)
    if settings.kind == "webhook":
        from tradingbot.monitoring.alerts.channels.webhook import WebhookChannel

        return WebhookChannel(address, terms)
    if settings.kind == "email":
        from tradingbot.monitoring.alerts.channels.email import EmailChannel

        return EmailChannel(address, settings.sender, settings.recipients, terms)
    from tradingbot.monitoring.alerts.channels.apprise_service import AppriseChannel

    return AppriseChannel(address, terms)
