"""The own network: every writing of its addresses, and every way to send, is refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from fixtures import call_trap
from fixtures.alert_servers import webhook_server
from tradingbot.domain.errors import ConfigError
from tradingbot.monitoring.alerts.channels import own_network
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms
from tradingbot.monitoring.alerts.channels.own_network import (
    OwnNetworkError,
    is_own_network,
    only_public,
    require_public,
)


@pytest.mark.parametrize(
    "address",
    [
        *("64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8"),
        *("::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b:1::8.8.8.8", "64:ff9b:1::7f00:1"),
        *("2002:7f00:1::", "2002:808:808::", "2001::1", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
        *("fec0::1", "feff::1", "2001:db8::1", "3fff::1", "5f00::1", "4000::1", "100::1"),
        *("ff0e::1", "2001:20::1", "192.88.99.1", "192.0.0.9", "192.0.0.170", "240.0.0.1"),
    ],
)
def test_address_that_carries_one_of_the_own_network_is_refused(address: str) -> None:
    assert is_own_network(address)


@pytest.mark.parametrize("address", ["64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2a00:1450:4001::1"])
def test_address_that_carries_a_public_one_is_public(address: str) -> None:
    assert not is_own_network(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "93.184.215.14"])
def test_u09_name_is_never_connected_to_whatever_it_stands_for(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """The system looks it up by itself, and may be told otherwise than whoever judges it."""
    found = [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (address, 9))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    place = ("localhost", 9)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        only_public(allow_private=False) as refused,
    ):
        for send in (lambda: sender.sendto(b"x", place), lambda: sender.connect(place)):
            with pytest.raises(OwnNetworkError, match="not by a name"):
                send()

    assert refused == ["localhost"] * 2


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "010.0.0.1", "", "<broadcast>"])
def test_u09_other_writings_of_an_address_are_refused_where_sockets_connect(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(call_trap, "is_here", lambda _: True)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        only_public(allow_private=False),
        pytest.raises(OwnNetworkError),
    ):
        sender.connect((host, 9))


@pytest.mark.parametrize("name", ["cafe.be", "dead.beef", "fa.ce"])
def test_u09_name_of_hexadecimal_letters_is_looked_up_before_it_is_used(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = []

    def resolve(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ConfigError, match=r"own network, was 10\.0\.0\.1"):
        require_public(name, 80, NetworkTerms(1.0, False, "channels.test"))

    assert asked == [name]


def test_u09_address_that_was_judged_is_the_one_that_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One lookup for each connection: a second one could be answered otherwise."""
    judged, asked = [], []

    def judge(address: str) -> bool:
        judged.append(address)
        return False

    monkeypatch.setattr(own_network, "is_own_network", judge)
    with webhook_server() as server:
        place = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda host, *_, **__: asked.append(host) or [place]
        )
        with only_public(allow_private=False) as refused:
            socket.create_connection(("rebinds.example.com", server.port), 5.0).close()

    assert (asked, judged) == (["rebinds.example.com"], ["127.0.0.1"])
    assert refused == []


def test_datagrams_into_the_own_network_are_refused() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        only_public(allow_private=False) as refused,
    ):
        with pytest.raises(OwnNetworkError):
            sender.sendto(b"x", ("127.0.0.1", 9))
        with pytest.raises(OwnNetworkError):
            sender.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))

    assert refused == ["127.0.0.1"] * 2


def test_what_is_connected_may_send() -> None:
    left, right = socket.socketpair()
    with left, right, only_public(allow_private=False) as refused:
        left.sendmsg([b"x"])
        assert right.recv(1) == b"x"

    assert refused == []


def test_sockets_of_this_machine_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with only_public(allow_private=False) as refused:
        with socket.socket(socket.AF_UNIX) as made, pytest.raises(OwnNetworkError):
            made.connect(path)
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made,
            pytest.raises(OwnNetworkError),
        ):
            made.sendto(b"x", path)

    assert refused == ["a socket of this machine"] * 2
