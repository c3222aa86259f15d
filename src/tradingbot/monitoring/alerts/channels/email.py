"""Alerts as e-mail: SMTP with STARTTLS where the server offers it, or TLS from the start."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import unquote

from tradingbot.domain.errors import ChannelError
from tradingbot.domain.redaction import split_credentials
from tradingbot.monitoring.alerts.channels.address import SecretAddress, read_place
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms
from tradingbot.monitoring.alerts.channels.own_network import only_public, require_public
from tradingbot.monitoring.alerts.notice import AlertNotice

_OWN_NAME = "localhost"
_PORTS = {"smtp": 587, "smtps": 465}


class EmailChannel:
    """Sends mail.

    Args:
        address: `smtp://USER:PASSWORD@HOST:PORT` or `smtps://`; a user logs in only over TLS.
        sender: Address it comes from.
        recipients: Addresses it goes to.
        terms: Of the network.

    Raises:
        ConfigError: If the address is none, or lies in the own network and may not.
    """

    def __init__(
        self,
        address: SecretAddress,
        sender: str,
        recipients: tuple[str, ...],
        terms: NetworkTerms,
    ) -> None:
        plain, user, password = split_credentials(address.value)
        rule = "address of e-mail must begin with smtp:// or smtps://"
        place = read_place(plain, _PORTS, rule, where=terms.where)
        self._address, self._terms = address, terms
        self._user, self._password = unquote(user), unquote(password)
        self._sender, self._recipients = sender, recipients
        self._is_tls = place.scheme == "smtps"
        self._host, self._port = place.host, place.port
        self.label = f"email by {place.host}"
        require_public(self._host, self._port, terms)

    def send(self, notice: AlertNotice) -> None:
        """Send the notice to all recipients; one that is refused is a failure."""
        try:
            with only_public(allow_private=self._terms.allow_private):
                refused = self._deliver(_message(notice, self._sender, self._recipients))
        except ChannelError:
            raise
        except (OSError, smtplib.SMTPException, ValueError) as e:
            told = self._address.hide_in(f"{type(e).__name__}: {e}")
            raise ChannelError("a mail server must take it", was=told, where=self.label) from e
        if refused:
            told = f"{refused} of {len(self._recipients)} recipients refused"
            raise ChannelError("a mail server must take all recipients", was=told)

    def _deliver(self, message: EmailMessage) -> int:
        context = ssl.create_default_context()
        # The name of this machine is neither looked up nor told.
        place, timeout_s = (self._host, self._port, _OWN_NAME), self._terms.timeout_s
        server: smtplib.SMTP
        if self._is_tls:
            server = smtplib.SMTP_SSL(*place, timeout=timeout_s, context=context)
        else:
            server = smtplib.SMTP(*place, timeout=timeout_s)
        with server:
            server.ehlo_or_helo_if_needed()
            if not self._is_tls and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
            elif not self._is_tls and self._user:
                rule = "a password must not be sent to a mail server without TLS"
                raise ChannelError(rule, was="no STARTTLS", where=self.label, remedy="Use smtps://")
            if self._user:
                server.login(self._user, self._password)
            return len(server.send_message(message))


def _message(notice: AlertNotice, sender: str, recipients: tuple[str, ...]) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = _one_line(f"[tradingbot] {notice.title}")
    message["From"], message["To"] = sender, ", ".join(recipients)
    message["Date"] = format_datetime(notice.at)
    message["X-Tradingbot-Incidents"] = ",".join(notice.incidents[:20])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{notice.title}\n\n{notice.text}\n\n{notice.at.isoformat()}\n")
    return message


def _one_line(text: str) -> str:
    """Keep names that came from elsewhere from adding headers."""
    return "".join(each if each.isprintable() else "?" for each in text)[:200]
