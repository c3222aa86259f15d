"""Alerts over any service that Apprise knows: chat, SMS, push, pagers. Needs the extra: alerts."""

from __future__ import annotations

import logging
import threading
import warnings
from importlib.util import find_spec
from typing import Any

from tradingbot.domain.errors import ChannelError, ConfigError, MissingExtraError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.channels.address import SecretAddress
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms
from tradingbot.monitoring.alerts.channels.own_network import only_public, refuse_connection
from tradingbot.monitoring.alerts.notice import AlertNotice

_TYPES = {AlertLevel.INFO: "info", AlertLevel.WARNING: "warning", AlertLevel.CRITICAL: "failure"}


class AppriseChannel:
    """One service of Apprise.

    Raises:
        ConfigError: If Apprise does not know the address.
        MissingExtraError: If Apprise is not installed.
    """

    def __init__(self, address: SecretAddress, terms: NetworkTerms) -> None:
        if find_spec("apprise") is None:
            raise MissingExtraError("alerts", package="apprise")
        import apprise

        # Its log shows addresses; what went wrong is told by us, without them.
        logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
        self._address, self._terms = address, terms
        with warnings.catch_warnings():  # of what its services import
            warnings.simplefilter("ignore", DeprecationWarning)
            service: Any = apprise.Apprise.instantiate(address.value, suppress_exceptions=True)
        if service is None:
            rule = "address must be one that Apprise knows"
            remedy = "See the services of Apprise, e.g. slack://, tgram://, pagerduty://"
            raise ConfigError(rule, was=f"{address.scheme}://***", where=terms.where, remedy=remedy)
        service.socket_connect_timeout = service.socket_read_timeout = terms.timeout_s
        self._service, self._lock = service, threading.Lock()
        self.label = f"apprise {address.scheme}"

    def send(self, notice: AlertNotice) -> None:
        """Send the notice by the service, in this thread."""
        try:
            with self._lock, only_public(allow_private=self._terms.allow_private) as refused:
                is_sent = self._service.notify(
                    body=notice.text, title=notice.title, notify_type=_TYPES[notice.severity]
                )
        except Exception as e:  # whatever a service's own code raises
            told = self._address.hide_in(f"{type(e).__name__}: {e}")
            raise ChannelError("a service must take it", was=told, where=self.label) from e
        if refused:
            raise refuse_connection(refused[0])
        if not is_sent:
            raise ChannelError("a service must take it", was="not taken", where=self.label)
