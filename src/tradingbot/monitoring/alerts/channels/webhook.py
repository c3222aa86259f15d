"""Alerts as JSON by HTTP POST; redirects are not followed, whatever they lead to."""

from __future__ import annotations

import http.client
import json
import ssl

from tradingbot.domain.errors import ChannelError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.monitoring.alerts.channels.address import SecretAddress, read_place
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms
from tradingbot.monitoring.alerts.channels.own_network import only_public, require_public
from tradingbot.monitoring.alerts.notice import AlertNotice

_TAKEN = range(200, 300)
_PORTS = {"http": 80, "https": 443}


class WebhookChannel:
    """Posts `{"title", "text", "severity", "kind", "at", "incidents", …}`.

    `text` and `content` hold title and text together, as chat services read them.

    Raises:
        ConfigError: If the address is none, or lies in the own network and may not.
    """

    def __init__(self, address: SecretAddress, terms: NetworkTerms) -> None:
        rule = "address of a webhook must begin with https:// or http://"
        place = read_place(address.value, _PORTS, rule, where=terms.where)
        self._address, self._terms = address, terms
        self._scheme, self._host, self._port, self._target = place
        self.label = f"webhook {place.scheme}://{place.host}"
        require_public(self._host, self._port, terms)

    def send(self, notice: AlertNotice) -> None:
        """Post the notice; anything but a 2xx is a failure."""
        words = f"{notice.title}\n{notice.text}"
        document = {**as_plain_values(notice), "message": notice.text}
        body = json.dumps({**document, "text": words, "content": words}).encode()
        headers = {"content-type": "application/json", "user-agent": "tradingbot-alerts"}
        try:
            with only_public(allow_private=self._terms.allow_private):
                status = self._post(body, headers)
        except ChannelError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as e:
            told = self._address.hide_in(f"{type(e).__name__}: {e}")
            raise ChannelError("a webhook must answer", was=told, where=self.label) from e
        if status not in _TAKEN:
            kind = "a redirect, which is not followed" if 300 <= status < 400 else "refused"
            raise ChannelError("a webhook must answer 2xx", was=f"{status}, {kind}")

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        place = (self._host, self._port)
        connection: http.client.HTTPConnection
        if self._scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                *place, timeout=self._terms.timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(*place, timeout=self._terms.timeout_s)
        try:
            connection.request("POST", self._target, body=body, headers=headers)
            answer = connection.getresponse()
            answer.read(4096)
            return answer.status
        finally:
            connection.close()
