"""Addresses in the machine's own network are refused: an alert must not become a way in.

What counts is the address that a socket connects to, not the name that was written: an audit hook
of the interpreter sees every connection of the block. It lets addresses pass and no name: one that
is connected to is looked up by the system, once more, and a resolver that answers the second time
otherwise would lead inward. Libraries look names up first and connect to what they found,
as `socket.create_connection` does; what was judged is then what is connected to.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tradingbot.domain.errors import ChannelError, ConfigError
from tradingbot.monitoring.alerts.channels.channel import NetworkTerms

REMEDY = "Set allow_private: true for this channel where that is meant"
_WATCHED = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_SOCKET_HERE = "a socket of this machine"
_ENDS_WITH_IPV4 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::ffff:0:0/96")))
"""NAT64, and IPv4 as IPv6 sockets write it: what they carry counts."""
_PUBLIC = ipaddress.IPv6Network("2000::/3")
"""All that IANA gives out for the internet; the rest of IPv6 is of sites, links and translators."""
_NOT_SURELY_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20"),
            *("192.0.0.0/24", "192.88.99.0/24"),
        ),
    )
)
"""Teredo and other protocols, documents, 6to4, what was given back, relays of 6to4: they may carry
another address within, or Python's versions disagree about them."""
_guarded = threading.local()
_installing = threading.Lock()
_is_installed = False


class OwnNetworkError(ChannelError, OSError):
    """A connection into the machine's own network was refused."""


def is_own_network(address: str) -> bool:
    """Tell whether an IP address is not surely one of the public internet.

    Example:
        >>> [is_own_network(each) for each in ("127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
        [True, True, True]
        >>> is_own_network("93.184.215.14")
        False
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if any(found in each for each in _ENDS_WITH_IPV4):
        found = ipaddress.IPv4Address(found.packed[-4:])
    if any(found in each for each in _NOT_SURELY_PUBLIC):
        return True
    is_given_out = found.version == 4 or found in _PUBLIC
    return not (is_given_out and found.is_global) or found.is_multicast


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
    host = str(place[0]) if isinstance(place, tuple) else _SOCKET_HERE
    address = _address(host)
    if address is None or is_own_network(address):
        refusals.append(host)
        raise refuse_connection(host)


def refuse_connection(host: str) -> OwnNetworkError:
    """Return the error of a connection into the own network, or by a name that was not judged."""
    if host == _SOCKET_HERE or _address(host) is not None:
        rule = "a channel must not connect into the machine's own network"
        return OwnNetworkError(rule, was=host, remedy=REMEDY)
    rule = "a channel must connect to an address, not by a name, which may lead elsewhere later"
    return OwnNetworkError(rule, was=host, remedy=f"Write its number, e.g. 93.184.215.14. {REMEDY}")


def _address(host: str) -> str | None:
    """Return an address as it is written everywhere; None where a host is anything else."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return None


def _addresses_of(host: str, port: int) -> list[str]:
    """Return what a host stands for now, in any writing: 2130706433 and 0x7f.1 are 127.0.0.1."""
    written = _address(host)
    if written is not None:
        return [written]
    with suppress(OSError):
        return [socket.inet_ntoa(socket.inet_aton(host))]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # it is not known, or no name at all
        return []
    return [str(place[0]) for *_, place in found]
