"""Which names a dashboard answers under: a page of another name that leads here is not its own.

A browser keeps pages apart by the name in its address bar, not by the address that the name stands
for. A name of elsewhere can be made to stand for 127.0.0.1 while a page of it is open (DNS
rebinding), and that page would read a server that answers under any name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from tradingbot.domain.errors import ConfigError

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT_OF_HTTP = 80
"""Browsers leave it out."""
_HOST = re.compile(r"(?P<name>[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True)
class ServedHosts:
    """Names of one dashboard."""

    names: frozenset[str]
    """Values of the header Host, in small letters."""
    port: int
    is_everywhere: bool
    """Whether it listens on every address of the machine; each of them is a name then."""

    def has(self, given: Sequence[str], arrived_at: str | None) -> bool:
        """Tell whether a request is for this dashboard.

        Args:
            given: Its headers Host; none and several are of no dashboard.
            arrived_at: Address of this machine that its connection came in at.
        """
        if len(given) != 1:
            return False
        host = given[0].lower()
        if host in self.names:
            return True
        return self.is_everywhere and arrived_at is not None and host in self._at(arrived_at)

    def _at(self, address: str) -> tuple[str, ...]:
        found = ip_address(address.partition("%")[0])
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return _with_port(_written(str(found)), self.port)


def hosts_of(address: str, port: int, allowed: Sequence[str] = ()) -> ServedHosts:
    """Return the names of a dashboard.

    Args:
        address: IP address that it listens on.
        port: That it listens on.
        allowed: Names beside its own; one without a port stands for itself and for itself with
            the dashboard's.
    """
    listens = ip_address(address)
    is_near = listens.is_loopback or listens.is_unspecified
    own = {
        *(LOOPBACK if is_near else ()),
        *(() if listens.is_unspecified else (_written(address),)),
    }
    names = {each for name in own for each in _with_port(name, port)}
    for text in allowed:
        name, given = read_host(text)
        names |= {f"{name}:{given}"} if given else {name, f"{name}:{port}"}
    return ServedHosts(frozenset(names), port, listens.is_unspecified)


def read_host(text: str) -> tuple[str, int | None]:
    """Return name and port of what a Host header may be.

    Raises:
        ConfigError: If it is none.

    Example:
        >>> read_host("Desk.example.com"), read_host("[::1]:9000")
        (('desk.example.com', None), ('[::1]', 9000))
    """
    found = _HOST.fullmatch(text.lower())
    port = None if found is None or found["port"] is None else int(found["port"])
    if found is None or (port is not None and not 0 < port < 2**16):
        rule = "a host must be a name or an IP address, with a port or without"
        remedy = "Write e.g. --allow-host desk.example.com, or localhost:9000"
        raise ConfigError(rule, was=repr(text[:80]), where="allow_hosts", remedy=remedy)
    return found["name"], port


def _with_port(name: str, port: int) -> tuple[str, ...]:
    return (f"{name}:{port}", name) if port == _PORT_OF_HTTP else (f"{name}:{port}",)


def _written(address: str) -> str:
    return f"[{address}]" if ":" in address else address
