"""Addresses in the machine's own network are refused: an alert must not become a way in.

What counts is the address that a socket connects to, not the name that was written: an audit hook
of the interpreter sees every connection of the block, so that names that resolve inward, redirects,
and names that resolve otherwise the second time are refused alike.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tradingbot.domain.errors import ChannelError, ConfigError
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms

REMEDY = "Set allow_private: true for this channel where that is meant"
_NUMBERS = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)
_WATCHED = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_ENDS_WITH_IPV4 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96")))
"""NAT64, and IPv6 addresses of old that carry one of IPv4."""
_guarded = threading.local()
_installing = threading.Lock()
_is_installed = False


class OwnNetworkError(ChannelError, OSError):
    """A connection into the machine's own network was refused."""


def is_own_network(address: str) -> bool:
    """Tell whether an IP address is not one of the public internet.

    Example:
        >>> [is_own_network(each) for each in ("127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
        [True, True, True]
        >>> is_own_network("93.184.215.14")
        False
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if any(found in each for each in _ENDS_WITH_IPV4):
        mapped = ipaddress.IPv4Address(found.packed[-4:])
    return not found.is_global or found.is_multicast or bool(mapped and not mapped.is_global)


@contextmanager
def only_public(*, allow_private: bool) -> Iterator[list[str]]:
    """Refuse connections of this thread into the own network while the block runs.

    Args:
        allow_private: Refuse nothing.

    Yields:
        Addresses that were refused: libraries may swallow the error.

    Raises:
        OwnNetworkError: Out of whatever connects.
    """
    _install()
    before = getattr(_guarded, "refused", None)
    refused: list[str] = []
    _guarded.refused = None if allow_private else refused
    try:
        yield refused
    finally:
        _guarded.refused = before


def require_public(host: str, port: int, terms: NetworkTerms) -> None:
    """Refuse a host that resolves into the own network, before anything is sent.

    A host that does not resolve now is not refused: it may later, and is checked then.

    Raises:
        ConfigError: Naming the channel, not the address.
    """
    if terms.allow_private:
        return
    for address in _addresses_of(host, port):
        if is_own_network(address):
            rule = "address of a channel must lie outside the machine's own network"
            raise ConfigError(rule, was=address, where=terms.where, remedy=REMEDY)


def _install() -> None:
    """Add the hook once; hooks cannot be taken away, and this one does nothing elsewhere."""
    global _is_installed
    with _installing:
        if not _is_installed:
            sys.addaudithook(_look)
            _is_installed = True


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    refusals: list[str] | None = getattr(_guarded, "refused", None)
    if event not in _WATCHED or refusals is None:
        return
    place = arguments[1]
    if place is None:  # sent to where it is connected, which was looked at
        return
    is_file = not isinstance(place, tuple)  # a socket of this machine
    host = "a socket of this machine" if is_file else str(place[0])
    if is_file or any(map(is_own_network, _addresses_of(host, None))):
        refusals.append(host)
        raise refuse_connection(host)


def refuse_connection(host: str) -> OwnNetworkError:
    """Return the error of a connection into the own network."""
    rule = "a channel must not connect into the machine's own network"
    return OwnNetworkError(rule, was=host, remedy=REMEDY)


def _addresses_of(host: str, port: int | None) -> list[str]:
    """Return what a host stands for: itself where it is an address in any writing."""
    try:
        return [str(ipaddress.ip_address(host.partition("%")[0]))]
    except ValueError:
        pass
    try:
        if _NUMBERS.fullmatch(host):  # 2130706433 and 0x7f.1 are 127.0.0.1 to the system
            return [socket.inet_ntoa(socket.inet_aton(host))]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(place[0]) for *_, place in found]
