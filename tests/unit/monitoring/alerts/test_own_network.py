"""The own network: every writing of its addresses, and every way to send, is refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tradingbot.monitoring.alerts.channels.own_network import (
    OwnNetworkError,
    is_own_network,
    only_public,
)


@pytest.mark.parametrize(
    "address", ["64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "::127.0.0.1", "::10.0.0.1"]
)
def test_address_that_carries_one_of_the_own_network_is_refused(address: str) -> None:
    assert is_own_network(address)


def test_address_that_carries_a_public_one_is_public() -> None:
    assert not is_own_network("64:ff9b::8.8.8.8")


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
