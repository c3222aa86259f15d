"""Channels against real servers on loopback: what arrives, what fails, and what is never shown."""

from __future__ import annotations

import logging
import socket
import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fixtures.alert_servers import mail_server, webhook_server
from tradingbot.domain.errors import ChannelError, ConfigError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.channels import email as email_channel
from tradingbot.monitoring.alerts.channels.address import SecretAddress, resolve_address
from tradingbot.monitoring.alerts.channels.apprise_service import AppriseChannel
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms
from tradingbot.monitoring.alerts.channels.console import ConsoleChannel, FileChannel
from tradingbot.monitoring.alerts.channels.email import EmailChannel
from tradingbot.monitoring.alerts.channels.own_network import is_own_network, only_public
from tradingbot.monitoring.alerts.channels.webhook import WebhookChannel
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind

AT = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
NOTICE = AlertNotice(
    NoticeKind.FIRED,
    AlertLevel.CRITICAL,
    "CRITICAL: drawdown, session first",
    "drawdown_frac 0.25, must be at most 0.2.",
    AT,
    ("3f9a01c2",),
)
NEAR = NetworkTerms(2.0, True, "channels.test")
FAR = NetworkTerms(2.0, False, "channels.test")
SECRET = "s3cr3t-t0ken"


def webhook(address: str, terms: NetworkTerms = NEAR) -> WebhookChannel:
    return WebhookChannel(SecretAddress(address), terms)


def mail(port: int, terms: NetworkTerms = NEAR, *, user: str = "") -> EmailChannel:
    address = SecretAddress(f"smtp://{user}127.0.0.1:{port}")
    return EmailChannel(address, "bot@example.com", ("mia@example.com",), terms)


def apprise(port: int, terms: NetworkTerms = NEAR) -> AppriseChannel:
    return AppriseChannel(SecretAddress(f"json://127.0.0.1:{port}/{SECRET}"), terms)


def test_webhook_posts_the_notice_as_json() -> None:
    with webhook_server() as server:
        webhook(server.address).send(NOTICE)

    (body,) = server.bodies
    assert server.paths == [f"/hook/{SECRET}"]
    assert (body["kind"], body["severity"], body["incidents"]) == (
        "fired",
        "critical",
        ["3f9a01c2"],
    )
    assert body["text"] == f"{NOTICE.title}\n{NOTICE.text}"
    assert body["at"] == AT.isoformat()


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_u06_webhook_that_refuses_is_a_failure(status: int) -> None:
    with webhook_server(status=status) as server, pytest.raises(ChannelError, match=str(status)):
        webhook(server.address).send(NOTICE)


def test_u06_webhook_that_hangs_is_a_failure_after_its_time() -> None:
    terms = NetworkTerms(0.1, True, "channels.test")
    with webhook_server(delay_s=0.5) as server, pytest.raises(ChannelError, match="time"):
        webhook(server.address, terms).send(NOTICE)


def test_u09_redirect_of_a_webhook_is_not_followed() -> None:
    with (
        webhook_server() as inner,
        webhook_server(status=307, location=inner.address) as outer,
        pytest.raises(ChannelError, match="redirect, which is not followed"),
    ):
        webhook(outer.address).send(NOTICE)

    assert inner.bodies == []


def test_email_arrives_with_its_headers() -> None:
    with mail_server() as mailbox:
        mail(mailbox.port).send(NOTICE)

    ((sender, recipients, content),) = mailbox.mails
    assert (sender, recipients) == ("bot@example.com", ["mia@example.com"])
    assert "Subject: [tradingbot] CRITICAL: drawdown, session first" in content
    assert "X-Tradingbot-Incidents: 3f9a01c2" in content
    assert NOTICE.text in content


def test_u06_mail_server_that_refuses_is_a_failure() -> None:
    with (
        mail_server(answer="451 later") as mailbox,
        pytest.raises(ChannelError, match="a mail server must take it"),
    ):
        mail(mailbox.port).send(NOTICE)


def test_name_with_line_ends_adds_no_header() -> None:
    hostile = AlertNotice(
        NoticeKind.FIRED, AlertLevel.INFO, "a\r\nBcc: eve@example.com", "text", AT
    )
    with mail_server() as mailbox:
        mail(mailbox.port).send(hostile)

    ((_, recipients, content),) = mailbox.mails
    assert recipients == ["mia@example.com"]
    assert "\nBcc:" not in content.partition("\r\n\r\n")[0]


def test_password_is_not_sent_without_tls() -> None:
    with (
        mail_server() as mailbox,
        pytest.raises(ChannelError, match="without TLS") as caught,
    ):
        mail(mailbox.port, user=f"me:{SECRET}@").send(NOTICE)

    assert mailbox.logins == []
    assert SECRET not in str(caught.value)


def test_password_is_sent_over_starttls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "2"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject],
        check=True,
        capture_output=True,
    )
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(email_channel.ssl, "create_default_context", lambda: trusting)
    with mail_server(tls=served) as mailbox:
        mail(mailbox.port, user=f"me:{SECRET}@").send(NOTICE)

    assert mailbox.logins == [SECRET.encode()]
    assert len(mailbox.mails) == 1


def test_apprise_sends_by_its_services() -> None:
    with webhook_server() as server:
        apprise(server.port).send(NOTICE)

    (body,) = server.bodies
    assert (body["title"], body["message"]) == (NOTICE.title, NOTICE.text)
    assert body["type"] == "failure"


def test_u06_apprise_service_that_refuses_is_a_failure() -> None:
    with webhook_server(status=500) as server, pytest.raises(ChannelError, match="not taken"):
        apprise(server.port).send(NOTICE)


def test_apprise_address_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="Apprise knows") as caught:
        AppriseChannel(SecretAddress(f"nothing://{SECRET}/x"), NEAR)

    assert SECRET not in str(caught.value)


def test_file_gets_one_line_per_notice(tmp_path: Path) -> None:
    channel = FileChannel(tmp_path / "deep" / "alerts.jsonl")

    channel.send(NOTICE)
    channel.send(NOTICE)

    lines = channel.path.read_text().splitlines()
    assert len(lines) == 2
    assert '"severity": "critical"' in lines[0]


def test_file_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(ChannelError):
        FileChannel(tmp_path / "taken" / "alerts.jsonl").send(NOTICE)


def test_console_writes_a_line() -> None:
    lines: list[str] = []

    ConsoleChannel(lines.append).send(NOTICE)

    assert lines == [f"2026-03-02T14:00:00+00:00 {NOTICE.title}. {NOTICE.text}"]


OWN = [
    *("127.0.0.1", "127.8.9.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "fe80::1", "fe80::1%lo"),
    *("fc00::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "::"),
]


@pytest.mark.parametrize("address", OWN)
def test_u09_addresses_of_the_own_network_are_known(address: str) -> None:
    assert is_own_network(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111"])
def test_public_addresses_are_no_own_network(address: str) -> None:
    assert not is_own_network(address)


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:9/x", "http://localhost/x", "http://169.254.169.254/latest/meta-data"),
        *("http://[::1]/x", "http://2130706433/x", "http://0x7f.1/x", "https://10.0.0.1/x"),
    ],
)
def test_u09_webhook_into_the_own_network_is_refused_before_it_is_used(address: str) -> None:
    with pytest.raises(ConfigError, match="own network") as caught:
        webhook(address, FAR)

    assert "allow_private" in str(caught.value)


def test_u09_mail_server_in_the_own_network_is_refused() -> None:
    with pytest.raises(ConfigError, match="own network"):
        mail(25, FAR)


def resolve_later(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """Let a name resolve outward when it is checked and inward when it is connected to."""
    real, asked = socket.getaddrinfo, []

    def resolve(host: Any, *rest: Any, **more: Any) -> Any:
        if host != "rebinds.example.com":
            return real(host, *rest, **more)
        asked.append(host)
        address = "93.184.215.14" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_u09_name_that_resolves_inward_later_is_refused_when_it_connects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with webhook_server() as server:
        resolve_later(monkeypatch, server.port)
        channel = webhook(f"http://rebinds.example.com:{server.port}/x", FAR)
        with pytest.raises(ChannelError, match=r"own network, was 127\.0\.0\.1"):
            channel.send(NOTICE)

    assert server.bodies == []


def test_u09_apprise_into_the_own_network_is_refused_when_it_connects() -> None:
    with webhook_server() as server, pytest.raises(ChannelError, match="own network"):
        apprise(server.port, FAR).send(NOTICE)

    assert server.bodies == []


def test_guard_of_the_network_ends_with_its_block() -> None:
    with webhook_server() as server:
        with only_public(allow_private=False) as refused, pytest.raises(OSError, match="network"):
            socket.create_connection(("127.0.0.1", server.port), 1.0)
        with socket.create_connection(("127.0.0.1", server.port), 1.0):
            pass

    assert refused == ["127.0.0.1"]


def test_c11_secret_of_an_address_is_in_no_message_label_or_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))  # bound, and does not listen
    port = dead.getsockname()[1]
    for channel in (
        webhook(f"http://127.0.0.1:{port}/hook/{SECRET}?key={SECRET}"),
        mail(port, user=f"me:{SECRET}@"),
        apprise(port),
    ):
        told += [channel.label, repr(channel)]
        with pytest.raises(ChannelError) as caught:
            channel.send(NOTICE)
        told.append(str(caught.value))
    dead.close()

    assert len(told) == 9
    assert SECRET not in "\n".join([*told, caplog.text])


def test_address_shows_scheme_and_host_alone() -> None:
    address = SecretAddress(f"https://me:{SECRET}@hooks.example.com/services/{SECRET}?a={SECRET}")

    assert str(address) == "https://hooks.example.com/***"
    assert SECRET not in repr(address)
    assert address.hide_in(f"POST {address.value} failed") == (
        "POST https://hooks.example.com/*** failed"
    )


def test_c11_address_that_is_none_shows_nothing_and_is_hidden() -> None:
    address = SecretAddress(f"json://[::1/{SECRET}")

    assert str(address) == "json:///***"
    assert SECRET not in address.hide_in(f"POST {address.value} failed: {SECRET}")


@pytest.mark.parametrize("part", ["T0K3N-abcdef", "pa$$w0rd", "pa%24%24w0rd", "Zq9k2x", "services"])
def test_c11_part_of_an_address_is_hidden_in_any_text(part: str) -> None:
    address = SecretAddress(
        "https://me:pa%24%24w0rd@hooks.example.com:8443/services/T0K3N-abcdef?key=Zq9k2x"
    )

    told = address.hide_in(f"hooks.example.com refused <{part}>, twice: {part}")

    assert told == "hooks.example.com refused <***>, twice: ***"


@pytest.mark.parametrize(("environment", "told"), [({}, "not set"), ({"HOOK": " "}, "empty")])
def test_c05_variable_without_an_address_is_refused(environment: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        resolve_address("env:HOOK", environment, where="channels.pager")
