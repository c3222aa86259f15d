"""What a channel is: it sends one notice, or says why it could not."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tradingbot.monitoring.alerts.notice import AlertNotice


class NetworkTerms(NamedTuple):
    """How a channel that leaves the machine is held."""

    timeout_s: float
    """Longest wait for one answer."""
    allow_private: bool
    """Whether it may lead into the machine's own network."""
    where: str
    """Name of the channel in its file, for messages."""


class AlertChannel(Protocol):
    """Sends notices; one at a time, from any thread."""

    @property
    def label(self) -> str:
        """Where it leads, without anything secret: kind and host."""

    def send(self, notice: AlertNotice) -> None:
        """Send a notice, once.

        Raises:
            ChannelError: If it was not taken.
        """
